import { literal, type Sql, sql } from '@tokenctl/common/db/sql.ts';

/** The program whose tables a database has: a controller, tokenctl's service with the same names, or a gateway. */
export type Layout = 'controller' | 'service' | 'gateway';

/** The common tables of all layouts, and their small differences. All values are constants. */
export interface Tables {
  readonly accessTokens: Sql;
  readonly refreshTokens: Sql;
  /** Unredeemed authorization codes, in the OAuth2 library's own table. */
  readonly authorizationCodes: Sql;
  readonly applications: Sql;
  readonly users: Sql;
  /** The owners of sessions. The sessions themselves are in `django_session` in every layout. */
  readonly sessionMemberships: Sql;
  readonly settings: Sql;
  readonly activity: Sql;
  /**
   * What the token columns contain: the token, its SHA-256 (hex), or in a gateway either the token (early releases)
   * or `$sha256$` and the SHA-256. An upgraded gateway may contain both, so each value shows its own form.
   */
  readonly storedForm: 'token' | 'hash' | 'by_value';
  /** The timestamp columns to set for a new access token. */
  readonly tokenTimestamps: readonly ('created' | 'updated' | 'modified')[];
  /** The column with a refresh token's last change. */
  readonly refreshTokenUpdatedAt: Sql;
  /** The end of the SET clause that changes a user. */
  readonly userTimestamp: Sql;
  /** An additional condition for a redeemable code `c`: the service keeps redeemed codes. */
  readonly unredeemed: Sql;
}

const CONTROLLER: Tables = {
  accessTokens: sql`main_oauth2accesstoken`,
  refreshTokens: sql`oauth2_provider_refreshtoken`,
  authorizationCodes: sql`oauth2_provider_grant`,
  applications: sql`main_oauth2application`,
  users: sql`auth_user`,
  sessionMemberships: sql`main_usersessionmembership`,
  settings: sql`conf_setting`,
  activity: sql`main_activitystream`,
  storedForm: 'token',
  tokenTimestamps: ['created', 'updated', 'modified'],
  refreshTokenUpdatedAt: sql`updated`,
  userTimestamp: sql``,
  unredeemed: sql``,
};

export const TABLES: Readonly<Record<Layout, Tables>> = {
  controller: CONTROLLER,
  service: { ...CONTROLLER, storedForm: 'hash', unredeemed: sql` AND c.used IS NULL` },
  gateway: {
    accessTokens: sql`dab_oauth2_provider_oauth2accesstoken`,
    refreshTokens: sql`dab_oauth2_provider_oauth2refreshtoken`,
    authorizationCodes: sql`oauth2_provider_grant`,
    applications: sql`dab_oauth2_provider_oauth2application`,
    users: sql`aap_gateway_api_user`,
    sessionMemberships: sql`aap_gateway_api_usersessionmembership`,
    settings: sql`aap_gateway_api_preference`,
    activity: sql`dab_activitystream_entry`,
    storedForm: 'by_value',
    tokenTimestamps: ['created', 'modified'],
    refreshTokenUpdatedAt: sql`modified`,
    userTimestamp: sql`, modified = now()`,
    unredeemed: sql``,
  },
};

/** A gateway's id tokens of OpenID Connect. Their foreign key to applications has no action. */
export const ID_TOKENS = sql`dab_oauth2_provider_oauth2idtoken`;

/** The prefix of the hash in a gateway's token columns (its library's `hash_string`). */
export const HASH_PREFIX = '$sha256$';

/**
 * The fingerprint of a stored token. It is always derived from the SHA-256 of the token itself, as a REST
 * client computes it from the value. The server computes it, so that no token leaves the database.
 */
export function tokenFingerprint(layout: Layout, column: Sql): Sql {
  return sql`left(${tokenHash(layout, column)}, 12)`;
}

/** The SHA-256 (hex) of a stored token. A value that is not recognized as a hash is a token, and is hashed. */
export function tokenHash(layout: Layout, column: Sql): Sql {
  const { storedForm } = TABLES[layout];
  if (storedForm === 'hash') return column;
  if (storedForm === 'token') return sha256(column);
  return sql`CASE WHEN ${column} ~ '^[$]sha256[$][0-9a-f]{64}$'
    THEN substr(${column}, ${literal(HASH_PREFIX.length + 1)}) ELSE ${sha256(column)} END`;
}

/** Whether a gateway's token column contains a plain-text token. Django's index for patterns supports it. */
export function isInClear(column: Sql): Sql {
  return sql`(${column} ~<~ '$sha256$' OR ${column} ~>=~ '$sha256%')`;
}

/** The first 12 hex digits of the SHA-256 of a text. */
export function fingerprint(column: Sql): Sql {
  return sql`left(${sha256(column)}, 12)`;
}

function sha256(column: Sql): Sql {
  return sql`encode(sha256(convert_to(${column}, 'UTF8')), 'hex')`;
}
