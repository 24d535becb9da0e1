import type { Outcome, StaysAlive } from '../core/plan.ts';
import type { Secret } from '../core/secret.ts';
import type { Selector } from '../core/selector.ts';
import type { ApplicationReference, Token, User } from '../core/token.ts';

/** What a target can and cannot do. A plan says what the missing ones leave alive. */
interface Capabilities {
  /** Refresh tokens can be listed and revoked without their value. */
  readonly refreshTokens: boolean;
  /** Sessions can be listed and ended. */
  readonly sessions: boolean;
  /** Tokens carry their last use (true), or can only be selected by it (false). */
  readonly lastUsed: boolean;
  /** Settings can be read and, with the rights, written. */
  readonly settings: boolean;
  /** Tokens can be created for the caller. */
  readonly createTokens: boolean;
  /** The credential may change things: a password may, a token as its scope says. */
  readonly changes: boolean;
}

/** A target as found: who answers there, and who the caller is to it. */
export interface TargetDescription {
  /** The context's name. */
  readonly context: string;
  /** Where it is, without credentials: a base URL. */
  readonly address: string;
  readonly dialect: 'controller' | 'gateway';
  /** The product version that the target states. */
  readonly version: string;
  readonly identity: {
    readonly id: number;
    readonly username: string;
    readonly isSuperuser: boolean;
    readonly isSystemAuditor: boolean;
  };
  /** How the tool authenticates there. */
  readonly credential: 'token' | 'password';
  /** How it travels: `https_unverified` is TLS whose certificate nobody checks. */
  readonly transport: 'https' | 'https_unverified' | 'http';
  readonly capabilities: Capabilities;
}

/** The controller's authentication settings that tokenctl knows, in the controller's names. */
export interface AuthenticationSettings {
  readonly AUTH_BASIC_ENABLED: boolean;
  readonly ALLOW_OAUTH2_FOR_EXTERNAL_USERS: boolean;
  readonly SESSION_COOKIE_AGE: number;
  readonly SESSIONS_PER_USER: number;
  readonly DISABLE_LOCAL_AUTH: boolean;
  readonly OAUTH2_PROVIDER: {
    readonly ACCESS_TOKEN_EXPIRE_SECONDS: number;
    readonly REFRESH_TOKEN_EXPIRE_SECONDS: number;
    readonly AUTHORIZATION_CODE_EXPIRE_SECONDS: number;
  };
  readonly LOGIN_REDIRECT_OVERRIDE: string;
  readonly ALLOW_METRICS_FOR_ANONYMOUS_USERS: boolean;
}

/** What a token is created with. */
export interface TokenRequest {
  readonly scope: 'read' | 'write';
  readonly description: string;
}

/** A created token: its record, and its value, which is given this once. */
export interface CreatedToken {
  readonly token: Token;
  readonly value: Secret;
}

/** Which users are meant; criteria that are present must all hold. No criterion means every user. */
export interface UserSelector {
  /** User names, exactly. */
  readonly names?: readonly string[];
  /** Deactivated users only. */
  readonly inactive?: true;
}

/**
 * One way to reach one controller. Every method throws `TokenctlError` (`credentials_refused`,
 * `permission_refused`, `target_unreachable`, `target_misbehaved`, `unsupported`).
 */
export interface Target {
  /** Finds out who answers and who the caller is. Reads only. */
  describe(): Promise<TargetDescription>;
  /**
   * Streams what the selector names, each token once, a page at a time and never all at once; ascending
   * by id, save that a selector too long for one question is asked in parts, one part after the other.
   *
   * @throws TokenctlError `unsupported` where the target refuses one of the criteria.
   */
  tokens(selector: Selector): AsyncIterable<Token>;
  /**
   * Streams the users that the caller may see, ordered as `tokens` are.
   *
   * @throws TokenctlError `unsupported` where the target refuses one of the criteria.
   */
  users(selector?: UserSelector): AsyncIterable<User>;
  /** The applications of these names that the caller may see; names without one are left out. */
  applications(names: readonly string[]): Promise<readonly ApplicationReference[]>;
  /**
   * The ids of tokens that may be the caller's own credential: empty with a password; one where the
   * target can tell; several where it can only narrow it down.
   */
  ownTokenIds(): Promise<readonly number[]>;
  /**
   * Revokes access tokens by id, several at a time, and yields one outcome for each, in any order. A
   * token that is gone already is `unchanged`. It throws only when no further token can be tried
   * (credentials refused, unreachable); what was yielded before holds.
   */
  revoke(tokenIds: readonly number[]): AsyncIterable<Outcome>;
  /** What a revocation of these tokens leaves alive here, because this target cannot end it. */
  staysAlive(facts: { readonly tokensWithRefreshToken: number }): Promise<readonly StaysAlive[]>;
  /** Creates a personal access token for the caller. */
  createToken(request: TokenRequest): Promise<CreatedToken>;
  readonly settings: {
    read(): Promise<AuthenticationSettings>;
    /** Writes the given keys and returns the settings as the target then has them. */
    write(change: Partial<AuthenticationSettings>): Promise<AuthenticationSettings>;
  };
  /** Lets go of connections. */
  close(): Promise<void>;
}

/** The time, passed in so that tests can hold it. */
export interface Clock {
  now(): Date;
}
