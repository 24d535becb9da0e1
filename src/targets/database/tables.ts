/**
 * Whose tables a database has: a controller's, those of tokenctl's own service, which carry the same names, or a platform
 * gateway's.
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
  /**
   * What the token columns hold: the token, its SHA-256 (hex), or in a gateway either the token (early releases) or
   * `$sha256$` and the SHA-256. A gateway that was upgraded may hold both, so each value tells its own form.
   */
  readonly storedForm: 'token' | 'hash' | 'by_value';
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
  storedForm: 'token',
  tokenTimestamps: ['created', 'updated', 'modified'],
  refreshTokenUpdatedAt: 'updated',
  userTimestamp: '',
  unredeemed: '',
};

export const TABLES: Readonly<Record<Layout, Tables>> = {
  controller: CONTROLLER,
  service: { ...CONTROLLER, storedForm: 'hash', unredeemed: ' AND c.used IS NULL' },
  gateway: {
    accessTokens: 'dab_oauth2_provider_oauth2accesstoken',
    refreshTokens: 'dab_oauth2_provider_oauth2refreshtoken',
    authorizationCodes: 'oauth2_provider_grant',
    applications: 'dab_oauth2_provider_oauth2application',
    users: 'aap_gateway_api_user',
    sessionMemberships: 'aap_gateway_api_usersessionmembership',
    settings: 'aap_gateway_api_preference',
    activity: 'dab_activitystream_entry',
    storedForm: 'by_value',
    tokenTimestamps: ['created', 'modified'],
    refreshTokenUpdatedAt: 'modified',
    userTimestamp: ', modified = now()',
    unredeemed: '',
  },
};

/**
 * The id tokens of OpenID Connect in a gateway. They refer to applications by a foreign key without an action. A layout without this
 * table has none.
 */
export const ID_TOKENS = 'dab_oauth2_provider_oauth2idtoken';

/** What precedes the hash in a gateway's token columns (its library's `hash_string`). */
export const HASH_PREFIX = '$sha256$';

/**
 * SQL for the fingerprint of a stored token: always of the SHA-256 of the token itself, as a REST client computes it from
 * the value. The server computes it, so that no token leaves the database.
 */
export function tokenFingerprint(layout: Layout, column: string): string {
  return `left(${tokenHash(layout, column)}, 12)`;
}

/** SQL for the SHA-256 (hex) of a stored token. What is not recognized as a hash is a token, and is hashed. */
export function tokenHash(layout: Layout, column: string): string {
  const { storedForm } = TABLES[layout];
  if (storedForm === 'hash') return column;
  if (storedForm === 'token') return sha256(column);
  return `CASE WHEN ${column} ~ '^[$]sha256[$][0-9a-f]{64}$' THEN substr(${column}, ${HASH_PREFIX.length + 1})
    ELSE ${sha256(column)} END`;
}

/** SQL for whether a gateway's token column holds a token in clear. An index for patterns serves it, as Django makes one. */
export function isInClear(column: string): string {
  return `(${column} ~<~ '${HASH_PREFIX}' OR ${column} ~>=~ '$sha256%')`;
}

/** SQL for the first 12 hex digits of the SHA-256 of a text. */
export function fingerprint(column: string): string {
  return `left(${sha256(column)}, 12)`;
}

function sha256(column: string): string {
  return `encode(sha256(convert_to(${column}, 'UTF8')), 'hex')`;
}
