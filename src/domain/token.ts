/** A reference to a user, as an access token contains it for its owner. */
export interface UserReference {
  readonly id: number;
  readonly username: string;
}

/** A reference to an OAuth2 application. */
export interface ApplicationReference {
  readonly id: number;
  readonly name: string;
}

/** An OAuth2 application, as far as tokens are concerned (RFC 6749 §2). Times are UTC. */
export interface Application extends ApplicationReference {
  /** Whether it can keep a secret (RFC 6749 §2.1). */
  readonly clientType: 'confidential' | 'public';
  /** In the controller's terms: `authorization-code`, `password`, `implicit`, … */
  readonly grantType: string;
  /** When it was created, with its secret: a controller's application keeps its first secret. */
  readonly created: Date;
}

/** One entry of the controller's activity stream. Times are UTC. */
export interface Activity {
  readonly id: number;
  readonly at: Date;
  /** `create`, `update`, `delete`, `associate`, `disassociate`. */
  readonly operation: string;
  /** Who did it; null for management commands, token endpoints and deleted users. */
  readonly actor: UserReference | null;
  /** The kind of its object, in the controller's terms: `o_auth2_access_token`, `job_template`. */
  readonly object: string;
  /** The changes that the controller recorded, with masked secrets. */
  readonly changes: Readonly<Record<string, unknown>>;
}

/**
 * An OAuth2 access token without its value.
 *
 * A token without an application is a personal access token. Times are UTC.
 */
export interface Token {
  readonly id: number;
  /** The owner; null if the owner's row is missing. */
  readonly user: UserReference | null;
  /** The application it was issued to; null for a personal access token. */
  readonly application: ApplicationReference | null;
  /** As stored in the target: `read`, `write`, `openid`, `roles`, separated by spaces. */
  readonly scope: string;
  readonly description: string;
  readonly created: Date;
  readonly expires: Date;
  /** When it last authenticated a request; null for never; missing if the target does not show it. */
  readonly lastUsed: Date | null | undefined;
  /** Whether it has a refresh token that would outlive its revocation. */
  readonly hasRefreshToken: boolean;
  /** When that was created; absent if the target does not show it, and without one. */
  readonly refreshTokenCreated?: Date;
  /**
   * The first 12 hex digits of the SHA-256 of the token (or of its stored hash); null if the target does not
   * show it. Identifies a token in logs without revealing it.
   */
  readonly fingerprint: string | null;
}

/**
 * The parts of an access token that a revocation plan counts. Without either creation time, the expiry of its
 * refresh token is not counted.
 */
export type PlannedToken = Pick<Token, 'id' | 'user' | 'application' | 'scope' | 'hasRefreshToken'> &
  Partial<Pick<Token, 'created' | 'refreshTokenCreated'>>;

/** An OAuth2 refresh token without its value (RFC 6749 §1.5). Times are UTC. */
export interface RefreshToken {
  readonly id: number;
  /** The owner; null if the owner's row is missing. */
  readonly user: UserReference | null;
  readonly application: ApplicationReference | null;
  readonly created: Date;
  /** When it was revoked; null if it was not. */
  readonly revoked: Date | null;
  /** Its access token; null if that is gone. */
  readonly accessTokenId: number | null;
  /** The first 12 hex digits of the SHA-256 of the token; null if the target does not show it. */
  readonly fingerprint: string | null;
}

/**
 * The state of a refresh token. `live`: can be exchanged for tokens. `expired`: older than
 * REFRESH_TOKEN_EXPIRE_SECONDS, and live again if that is raised. `orphaned`: not revoked but without an
 * access token, so that the controller's own clean-up never removes it (what it can do depends on the
 * version, see `orphanUse`). `revoked`: it was revoked.
 */
export type RefreshTokenState = 'live' | 'expired' | 'orphaned' | 'revoked';

/** The state in a refresh token's row: `live` includes expired ones, which depend on a setting. */
export type StoredRefreshTokenState = Exclude<RefreshTokenState, 'expired'>;

/** The state of a refresh token from its row. */
export function refreshTokenState(
  token: Pick<RefreshToken, 'revoked' | 'accessTokenId'>,
): StoredRefreshTokenState {
  if (token.revoked !== null) return 'revoked';
  return token.accessTokenId === null ? 'orphaned' : 'live';
}

/**
 * When a refresh token expires: the controller adds the current REFRESH_TOKEN_EXPIRE_SECONDS to the creation
 * of the token (24.6.1; a later refresh is rejected with 403, and the token stays unchanged).
 * @param lifetime In seconds.
 */
export function refreshTokenExpiry({ created }: Pick<RefreshToken, 'created'>, lifetime: number): Date {
  return new Date(created.getTime() + lifetime * 1000);
}

/**
 * When the refresh token of an access token expires, given its lifetime in seconds. If its creation is
 * unknown, the access token's is used: a controller creates both in one request.
 */
export function besideExpiry(
  { created, refreshTokenCreated = created }: Pick<Token, 'created' | 'refreshTokenCreated'>,
  lifetime: number,
): Date {
  return refreshTokenExpiry({ created: refreshTokenCreated }, lifetime);
}

/**
 * An authorization code that can still be redeemed for tokens, or that expired (RFC 6749 §4.1.2), without its
 * value. A controller deletes a code when it is redeemed. Times are UTC.
 */
export interface AuthorizationCode {
  readonly id: number;
  readonly user: UserReference | null;
  readonly application: ApplicationReference | null;
  readonly created: Date;
  readonly expires: Date;
}

/** A browser's login session, without its key, which is a secret. Times are UTC. */
export interface Session {
  /** The owner; null if unknown. */
  readonly user: UserReference | null;
  readonly created: Date | null;
  readonly expires: Date;
  /** The first 12 hex digits of the SHA-256 of its key: identifies it in logs without revealing it. */
  readonly fingerprint: string;
}

/** A user as far as tokens are concerned. */
export interface User {
  readonly id: number;
  readonly username: string;
  /** False for a deactivated user; null if the target does not show it. */
  readonly isActive: boolean | null;
  readonly isSuperuser: boolean;
  /** Null if the target does not show it. */
  readonly isSystemAuditor: boolean | null;
  /** The kind of identity provider: `ldap`, `social`, …; null for a local account. */
  readonly externalAccount: string | null;
  /** Null for never. */
  readonly lastLogin: Date | null;
  /** When the account was created; absent if the target does not show it. */
  readonly created?: Date;
}

/**
 * The words of a scope. Only the newest gateways have `openid` and `roles`, alone or with the others: with
 * them, a token reveals its owner and the owner's roles [code].
 */
export const scopeWords = ['read', 'write', 'openid', 'roles'] as const;

export type ScopeWord = (typeof scopeWords)[number];

/** The default lifetime of an authorization code, in seconds: also the maximum of RFC 6749 §4.1.2. */
export const DEFAULT_CODE_LIFETIME_S = 600;
