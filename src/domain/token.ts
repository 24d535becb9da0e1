/** A reference to a user: what an access token carries of its owner. */
export interface UserReference {
  readonly id: number;
  readonly username: string;
}

/** A reference to an OAuth2 application. */
export interface ApplicationReference {
  readonly id: number;
  readonly name: string;
}

/** An OAuth2 application as far as tokens are concerned (RFC 6749 §2). Times are UTC. */
export interface Application extends ApplicationReference {
  /** Whether it can keep a secret (RFC 6749 §2.1). */
  readonly clientType: 'confidential' | 'public';
  /** As the controller names grants: `authorization-code`, `password`, `implicit`, … */
  readonly grantType: string;
  /** When it was made, its secret with it: a controller's application keeps its first secret. */
  readonly created: Date;
}

/** One entry of the controller's activity stream: who changed what. Times are UTC. */
export interface Activity {
  readonly id: number;
  readonly at: Date;
  /** `create`, `update`, `delete`, `associate`, `disassociate`. */
  readonly operation: string;
  /** Who did it; null for management commands, token endpoints and deleted users. */
  readonly actor: UserReference | null;
  /** What kind of thing it is about, in the controller's words: `o_auth2_access_token`, `job_template`. */
  readonly object: string;
  /** What changed, as the controller recorded it, secrets masked. */
  readonly changes: Readonly<Record<string, unknown>>;
}

/**
 * An OAuth2 access token as an administrator sees it: everything but its value.
 *
 * A token without an application is a personal access token. Times are UTC.
 */
export interface Token {
  readonly id: number;
  /** The owner; null where the owner's row is gone. */
  readonly user: UserReference | null;
  /** The application it was issued to; null for a personal access token. */
  readonly application: ApplicationReference | null;
  /** As stored in the target: `read`, `write`, `openid`, `roles`, separated by spaces. */
  readonly scope: string;
  readonly description: string;
  readonly created: Date;
  readonly expires: Date;
  /** When it last authenticated a request; null for never; missing where the target does not tell. */
  readonly lastUsed: Date | null | undefined;
  /** Whether a refresh token hangs on it that would outlive its revocation. */
  readonly hasRefreshToken: boolean;
  /** When that was made; absent where the target does not tell, and without one. */
  readonly refreshTokenCreated?: Date;
  /**
   * The first 12 hex digits of the SHA-256 of the token (or of its stored hash); null where the target
   * does not tell. Names a token in logs without giving it away.
   */
  readonly fingerprint: string | null;
}

/** What a revocation plan counts of an access token. Without either creation, the expiry of its refresh token is not counted. */
export type PlannedToken = Pick<Token, 'id' | 'user' | 'application' | 'scope' | 'hasRefreshToken'> &
  Partial<Pick<Token, 'created' | 'refreshTokenCreated'>>;

/**
 * An OAuth2 refresh token as an administrator sees it: everything but its value (RFC 6749 §1.5).
 * Times are UTC.
 */
export interface RefreshToken {
  readonly id: number;
  /** The owner; null where the owner's row is gone. */
  readonly user: UserReference | null;
  readonly application: ApplicationReference | null;
  readonly created: Date;
  /** When it was revoked; null while it is alive. */
  readonly revoked: Date | null;
  /** The access token beside it; null where that is gone. */
  readonly accessTokenId: number | null;
  /** The first 12 hex digits of the SHA-256 of the token; null where the target does not tell. */
  readonly fingerprint: string | null;
}

/**
 * What a refresh token is: `live` can be exchanged for tokens; `expired` is older than
 * REFRESH_TOKEN_EXPIRE_SECONDS, and live again if that is raised; `orphaned` is not revoked but has no access
 * token, so that the controller's own clean-up never sees it (what it can do depends on the version, see
 * `orphanUse`); `revoked` is over.
 */
export type RefreshTokenState = 'live' | 'expired' | 'orphaned' | 'revoked';

/** The state that a refresh token's row shows: `live` includes what is expired, which depends on a setting. */
export type StoredRefreshTokenState = Exclude<RefreshTokenState, 'expired'>;

/** The state of a refresh token by its row. */
export function refreshTokenState(
  token: Pick<RefreshToken, 'revoked' | 'accessTokenId'>,
): StoredRefreshTokenState {
  if (token.revoked !== null) return 'revoked';
  return token.accessTokenId === null ? 'orphaned' : 'live';
}

/**
 * When a refresh token expires: the controller adds REFRESH_TOKEN_EXPIRE_SECONDS, as it is now, to the
 * creation of the token (24.6.1; a refresh after that is answered with 403, and the token stays as it is).
 * @param lifetime In seconds.
 */
export function refreshTokenExpiry({ created }: Pick<RefreshToken, 'created'>, lifetime: number): Date {
  return new Date(created.getTime() + lifetime * 1000);
}

/**
 * When the refresh token beside an access token expires, by its lifetime in seconds. Where its creation is
 * not told it is that of the access token: a controller creates both in one request.
 */
export function besideExpiry(
  { created, refreshTokenCreated = created }: Pick<Token, 'created' | 'refreshTokenCreated'>,
  lifetime: number,
): Date {
  return refreshTokenExpiry({ created: refreshTokenCreated }, lifetime);
}

/**
 * An authorization code that can still be redeemed for tokens, or that expired (RFC 6749 §4.1.2): everything
 * but its value. A controller deletes a code when it is redeemed. Times are UTC.
 */
export interface AuthorizationCode {
  readonly id: number;
  readonly user: UserReference | null;
  readonly application: ApplicationReference | null;
  readonly created: Date;
  readonly expires: Date;
}

/** A login session of a browser. Its key is a secret and is not among it. Times are UTC. */
export interface Session {
  /** Whose it is; null where nothing says so. */
  readonly user: UserReference | null;
  readonly created: Date | null;
  readonly expires: Date;
  /** The first 12 hex digits of the SHA-256 of its key: names it in logs without giving it away. */
  readonly fingerprint: string;
}

/** A user as far as tokens are concerned. */
export interface User {
  readonly id: number;
  readonly username: string;
  /** False for a deactivated user; null where the target does not tell. */
  readonly isActive: boolean | null;
  readonly isSuperuser: boolean;
  /** Null where the target does not tell. */
  readonly isSystemAuditor: boolean | null;
  /** The kind of identity provider: `ldap`, `social`, …; null for a local account. */
  readonly externalAccount: string | null;
  /** Null for never. */
  readonly lastLogin: Date | null;
  /** When the account was made; absent where the target does not tell. */
  readonly created?: Date;
}

/**
 * The words that a scope can have. `openid` and `roles` are of the newest gateways only, alone or beside the others: with them, a token
 * tells who its owner is and which roles the owner has [code].
 */
export const scopeWords = ['read', 'write', 'openid', 'roles'] as const;

export type ScopeWord = (typeof scopeWords)[number];

/** How long an authorization code is valid where nothing else is set, in seconds: also the maximum of RFC 6749 §4.1.2. */
export const DEFAULT_CODE_LIFETIME_S = 600;
