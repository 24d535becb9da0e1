import type { TokenRecord } from '../store/tokens.ts';

const MASK = '************';

/** The values that a creation shows, this once. */
export interface IssuedValues {
  readonly token: string;
  readonly refreshToken: string | null;
}

/** An access token as the API shows it; its value and its refresh token's only right after it was made. */
export function tokenJson(token: TokenRecord, issued?: IssuedValues): Record<string, unknown> {
  const url = `/api/v2/tokens/${token.id}/`;
  return {
    id: token.id,
    type: 'o_auth2_access_token',
    url,
    related: {
      ...(token.user_id !== null && { user: `/api/v2/users/${token.user_id}/` }),
      ...(token.application_id !== null && { application: `/api/v2/applications/${token.application_id}/` }),
      activity_stream: `${url}activity_stream/`,
    },
    summary_fields: {
      ...(token.user_id !== null && {
        user: {
          id: token.user_id,
          username: token.username,
          first_name: token.first_name,
          last_name: token.last_name,
        },
      }),
      ...(token.application_id !== null && {
        application: { id: token.application_id, name: token.application_name },
      }),
    },
    created: token.created,
    modified: token.modified,
    description: token.description,
    user: token.user_id,
    token: issued?.token ?? MASK,
    refresh_token: issued === undefined ? (token.has_refresh_token ? MASK : null) : issued.refreshToken,
    application: token.application_id,
    expires: token.expires,
    scope: token.scope,
  };
}

/** What the activity stream keeps of a token when it is made or deleted. */
export function tokenFacts(token: TokenRecord): Record<string, unknown> {
  return {
    description: token.description,
    application: token.application_name,
    scope: token.scope,
    id: token.id,
    token: MASK,
  };
}
