import { administersOrganization } from '../access.ts';
import type { Caller } from '../auth/authenticate.ts';
import type { FieldSet } from '../listing/fields.ts';
import type { ApplicationFacts, ApplicationRecord, ApplicationTokens } from '../store/applications.ts';
import { namedSegment } from './request-values.ts';
import { leadingFields, MASK, namedRelation, userRelation } from './resource.ts';

/** What to show of an application in addition to its row. */
interface ApplicationView {
  readonly caller: Caller;
  /** The tokens of the application that the caller may see; undefined for a new application. */
  readonly tokens: ApplicationTokens | undefined;
  /** Whether the response shows this application only. */
  readonly detail?: boolean;
  /** The client secret, in the response to the request that generated it. */
  readonly secret?: string | null;
}

/** An application as the API shows it to a caller. A public application shows no secret. */
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

/** What the activity stream records of an application: neither its client id nor its secret. */
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

/** The grant types of applications. `implicit` is added if the service was started with it. */
const GRANT_TYPES: readonly (readonly [string, string])[] = [
  ['authorization-code', 'Authorization code'],
  ['password', 'Resource owner password-based'],
];

const CLIENT_TYPES: readonly (readonly [string, string])[] = [
  ['confidential', 'Confidential'],
  ['public', 'Public'],
];

function fields(grantTypes: typeof GRANT_TYPES): FieldSet {
  return {
    type: 'o_auth2_application',
    fields: {
      ...leadingFields({
        type: 'o_auth2_application',
        name: 'OAuth2 application',
        alias: 'a',
        summary: 'Its organization and tokens, and what you may do with it.',
      }),
      modified: {
        type: 'datetime',
        label: 'Modified',
        helpText: 'When this OAuth2 application was last changed.',
        column: 'a.updated',
        unannounced: true,
      },
      name: {
        type: 'string',
        label: 'Name',
        helpText: 'Name of this application, unique in its organization.',
        column: 'a.name',
        writable: 'change',
        required: true,
        blank: true,
        maxLength: 255,
      },
      description: {
        type: 'string',
        label: 'Description',
        helpText: 'Purpose of this application.',
        column: 'a.description',
        writable: 'change',
        defaultValue: '',
      },
      client_id: { type: 'string', label: 'Client ID', column: 'a.client_id', secret: true },
      client_secret: {
        type: 'string',
        label: 'Client secret',
        helpText: 'Shown once, when it is generated for a confidential application.',
        column: 'a.client_secret',
        secret: true,
      },
      client_type: {
        type: 'choice',
        label: 'Client type',
        helpText: 'Public if the application cannot keep a secret, as in a browser or on a phone.',
        column: 'a.client_type',
        writable: 'change',
        required: true,
        choices: CLIENT_TYPES,
      },
      redirect_uris: {
        type: 'string',
        label: 'Redirect URIs',
        helpText: 'Allowed redirect URIs, separated by spaces. They are compared exactly.',
        column: 'a.redirect_uris',
        writable: 'change',
      },
      authorization_grant_type: {
        type: 'choice',
        label: 'Authorization grant type',
        helpText: 'How users get tokens for this application. It cannot be changed.',
        column: 'a.authorization_grant_type',
        writable: 'create',
        required: true,
        choices: grantTypes,
      },
      skip_authorization: {
        type: 'boolean',
        label: 'Skip authorization',
        helpText: 'Whether to skip the consent page for this trusted application.',
        column: 'a.skip_authorization',
        writable: 'change',
        defaultValue: false,
      },
      organization: {
        type: 'id',
        label: 'Organization',
        helpText: 'The organization whose members may use it.',
        column: 'a.organization_id',
        writable: 'change',
        required: true,
      },
    },
    relations: {
      organization: namedRelation('o'),
      user: userRelation('u'),
    },
    searchFields: ['description', 'name'],
    order: ['name'],
  };
}

const usual = fields(GRANT_TYPES);
const withImplicit = fields([...GRANT_TYPES, ['implicit', 'Implicit']]);

export function applicationFields(service: { readonly allowImplicitGrant?: boolean }): FieldSet {
  return service.allowImplicitGrant === true ? withImplicit : usual;
}
