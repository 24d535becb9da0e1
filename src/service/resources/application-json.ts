import { administersOrganization } from '../access.ts';
import type { Caller } from '../auth/authenticate.ts';
import type { ApplicationTokens } from '../store/application-tokens.ts';
import type { ApplicationFacts, ApplicationRecord } from '../store/applications.ts';
import { namedSegment } from './named-url.ts';

const MASK = '************';

/** What is shown of an application beside its row. */
export interface ApplicationView {
  readonly caller: Caller;
  /** Those of its tokens that the caller sees; undefined where there is none. */
  readonly tokens: ApplicationTokens | undefined;
  /** Whether it is the only one in the answer. */
  readonly detail?: boolean;
  /** The secret in clear, right after it was made. */
  readonly secret?: string | null;
}

/** An application as the API shows it to a caller. A public one has no secret to show. */
export function applicationJson(
  application: ApplicationRecord,
  { caller, tokens, detail = false, secret = null }: ApplicationView,
): Record<string, unknown> {
  const { id, organization_id: organization } = application;
  const url = `/api/v2/applications/${id}/`;
  const mayEdit = caller.mayWrite && administersOrganization(caller.user, organization);
  return {
    id,
    type: 'o_auth2_application',
    url,
    related: {
      ...(detail && { named_url: namedUrl(application) }),
      tokens: `${url}tokens/`,
      activity_stream: `${url}activity_stream/`,
      ...(organization !== null && { organization: `/api/v2/organizations/${organization}/` }),
    },
    summary_fields: {
      ...(organization !== null && {
        organization: {
          id: organization,
          name: application.organization_name,
          description: application.organization_description,
        },
      }),
      user_capabilities: { edit: mayEdit, delete: mayEdit },
      tokens: {
        count: tokens?.count ?? 0,
        results: (tokens?.first ?? []).map(({ id, scope }) => ({ id, token: MASK, scope })),
      },
    },
    created: application.created,
    modified: application.modified,
    name: application.name,
    description: application.description,
    client_id: application.client_id,
    ...(application.client_type === 'confidential' && { client_secret: secret ?? MASK }),
    client_type: application.client_type,
    redirect_uris: application.redirect_uris,
    authorization_grant_type: application.authorization_grant_type,
    skip_authorization: application.skip_authorization,
    organization,
  };
}

function namedUrl({ name, organization_name }: ApplicationRecord): string {
  return `/api/v2/applications/${namedSegment([name, organization_name ?? ''])}/`;
}

/** What the activity stream keeps of an application. Neither the client id nor the secret is among it. */
export function applicationFacts(
  application: ApplicationFacts & { readonly organization_name: string | null },
): Record<string, unknown> {
  const { organization_id: id, organization_name: name } = application;
  return {
    name: application.name,
    description: application.description,
    client_type: application.client_type,
    redirect_uris: application.redirect_uris,
    authorization_grant_type: application.authorization_grant_type,
    skip_authorization: application.skip_authorization,
    organization: id === null ? null : `${name}-${id}`,
  };
}
