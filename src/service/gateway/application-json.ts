import type { ApplicationView } from '../resources/application-json.ts';
import type { ApplicationRecord } from '../store/applications.ts';
import { API, MASK, references } from './related.ts';

/** An application as a gateway shows it. A public one has no secret to show. */
export function gatewayApplicationJson(
  application: ApplicationRecord,
  { tokens, secret = null }: ApplicationView,
): Record<string, unknown> {
  const { id } = application;
  const url = `${API}applications/${id}/`;
  const { ids, related, summary } = references({
    organization: {
      id: application.organization_id,
      collection: 'organizations',
      summary: { name: application.organization_name },
    },
  });
  return {
    id,
    url,
    related: { ...related, tokens: `${url}tokens/` },
    summary_fields: {
      ...summary,
      tokens: {
        count: tokens?.count ?? 0,
        results: (tokens?.first ?? []).map((token) => ({ id: token.id, token: MASK, scope: token.scope })),
      },
    },
    created: application.created,
    created_by: null,
    modified: application.modified,
    modified_by: null,
    name: application.name,
    description: application.description,
    ...ids,
    user: null,
    client_id: application.client_id,
    ...(application.client_type === 'confidential' && { client_secret: secret ?? MASK }),
    client_type: application.client_type,
    authorization_grant_type: application.authorization_grant_type,
    redirect_uris: application.redirect_uris,
    post_logout_redirect_uris: '',
    skip_authorization: application.skip_authorization,
    app_url: null,
    algorithm: '',
  };
}
