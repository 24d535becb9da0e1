/**
 * Whose tables a database has: a controller's, those of tokenctl's own service, which carry the same names, or a platform
 * gateway's. A controller stores tokens in plain text, the others store their SHA-256 (hex).
 */
export type Layout = 'controller' | 'service' | 'gateway';

/**
 * The tables that mean the same in every layout, and their small differences. All values are constants: no SQL is ever
 * built from anything else.
 */
export interface Tables {
  readonly accessTokens: 'main_oauth2accesstoken' | 'dab_oauth2_provider_oauth2accesstoken';
  readonly refreshTokens: 'oauth2_provider_refreshtoken' | 'dab_oauth2_provider_oauth2refreshtoken';
  /** Unredeemed authorization codes, in the OAuth2 library's own table. */
  readonly authorizationCodes: 'oauth2_provider_grant';
  readonly applications: 'main_oauth2application' | 'dab_oauth2_provider_oauth2application';
  readonly users: 'auth_user' | 'aap_gateway_api_user';
  /** The owners of sessions. The sessions themselves are in `django_session` in every layout. */
  readonly sessionMemberships: 'main_usersessionmembership' | 'aap_gateway_api_usersessionmembership';
  readonly settings: 'conf_setting' | 'aap_gateway_api_preference';
  readonly activity: 'main_activitystream' | 'dab_activitystream_entry';
  /** Whether the token columns hold the SHA-256 (hex) of a token, not the token itself. */
  readonly storesHashes: boolean;
  /** The timestamp columns that a new access token sets. */
  readonly tokenTimestamps: readonly ('created' | 'updated' | 'modified')[];
  /** The column with the last change of a refresh token. */
  readonly refreshTokenUpdatedAt: 'updated' | 'modified';
  /** The end of the SET clause for a change of a user. */
  readonly userTimestamp: '' | ', modified = now()';
  /** An additional condition for a code `c` that can be redeemed: the service keeps redeemed codes. */
  readonly unredeemed: '' | ' AND c.used IS NULL';
}

const CONTROLLER: Tables = {
  accessTokens: 'main_oauth2accesstoken',
  refreshTokens: 'oauth2_provider_refreshtoken',
  authorizationCodes: 'oauth2_provider_grant',
  applications: 'main_oauth2application',
  users: 'auth_user',
  sessionMemberships: 'main_usersessionmembership',
  settings: 'conf_setting',
  activity: 'main_activitystream',
  storesHashes: false,
  tokenTimestamps: ['created', 'updated', 'modified'],
  refreshTokenUpdatedAt: 'updated',
  userTimestamp: '',
  unredeemed: '',
};

/** The tables of each layout. */
export const TABLES: Readonly<Record<Layout, Tables>> = {
  controller: CONTROLLER,
  service: { ...CONTROLLER, storesHashes: true, unredeemed: ' AND c.used IS NULL' },
  gateway: {
    accessTokens: 'dab_oauth2_provider_oauth2accesstoken',
    refreshTokens: 'dab_oauth2_provider_oauth2refreshtoken',
    authorizationCodes: 'oauth2_provider_grant',
    applications: 'dab_oauth2_provider_oauth2application',
    users: 'aap_gateway_api_user',
    sessionMemberships: 'aap_gateway_api_usersessionmembership',
    settings: 'aap_gateway_api_preference',
    activity: 'dab_activitystream_entry',
    storesHashes: true,
    tokenTimestamps: ['created', 'modified'],
    refreshTokenUpdatedAt: 'modified',
    userTimestamp: ', modified = now()',
    unredeemed: '',
  },
};

/** SQL for the fingerprint of a stored token. The server computes it, so that no token leaves the database. */
export function tokenFingerprint(layout: Layout, column: string): string {
  return TABLES[layout].storesHashes ? `left(${column}, 12)` : fingerprint(column);
}

/** SQL for the SHA-256 (hex) of a stored token. */
export function tokenHash(layout: Layout, column: string): string {
  return TABLES[layout].storesHashes ? column : sha256(column);
}

/** SQL for the first 12 hex digits of the SHA-256 of a text. */
export function fingerprint(column: string): string {
  return `left(${sha256(column)}, 12)`;
}

function sha256(column: string): string {
  return `encode(sha256(convert_to(${column}, 'UTF8')), 'hex')`;
}
