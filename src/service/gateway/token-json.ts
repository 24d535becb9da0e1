import type { IssuedValues } from '../resources/token-json.ts';
import type { TokenRecord } from '../store/tokens.ts';
import { API, MASK, references } from './related.ts';

/**
 * An access token as a gateway shows it; its value and its refresh token's only right after it was made. Unlike
 * a controller, it tells the last use. A token is made and changed in its owner's name.
 */
export function gatewayTokenJson(token: TokenRecord, issued?: IssuedValues): Record<string, unknown> {
  const { id, username, first_name, last_name } = token;
  const owner = {
    id: token.user_id,
    collection: 'users',
    summary: { username, first_name, last_name },
  } as const;
  const { ids, related, summary } = references({
    user: owner,
    application: {
      id: token.application_id,
      collection: 'applications',
      summary: { name: token.application_name },
    },
    created_by: owner,
    modified_by: owner,
  });
  return {
    id,
    url: `${API}tokens/${id}/`,
    related,
    summary_fields: summary,
    created: token.created,
    modified: token.modified,
    ...ids,
    token: issued?.token ?? MASK,
    refresh_token: issued === undefined ? (token.has_refresh_token ? MASK : null) : issued.refreshToken,
    expires: token.expires,
    scope: token.scope,
    description: token.description,
    last_used: token.last_used,
  };
}
