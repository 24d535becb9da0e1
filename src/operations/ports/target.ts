import type { Outcome, Reach, StaysAlive } from '../../domain/plan.ts';
import type { Secret } from '../../domain/secret.ts';
import type { Selector } from '../../domain/selector.ts';
import type {
  Activity,
  Application,
  RefreshToken,
  Session,
  Token,
  User,
  UserReference,
} from '../../domain/token.ts';
import type { AuthenticationSettings } from './authentication-settings.ts';
import type { TargetDescription } from './target-description.ts';
import type {
  ActivitySelector,
  RefreshTokenSelector,
  SessionSelector,
  UserSelector,
} from './target-selectors.ts';

/** What a token is created with. */
export interface TokenRequest {
  readonly scope: 'read' | 'write';
  readonly description: string;
  /** Whose it is to be; the caller's where absent, which a database refuses: a role is no user. */
  readonly user?: string | undefined;
}

/** A created token: its record, and its value, which is given this once. */
export interface CreatedToken {
  readonly token: Token;
  readonly value: Secret;
}

/** Whose a token's value is. The value itself is not among it. */
export interface Identified {
  /** Which of the values, by its place in the list given. */
  readonly index: number;
  readonly kind: 'access_token' | 'refresh_token';
  /** Whether it is accepted, as far as the target can tell. */
  readonly live: boolean;
  /** The token's id; several where it could only be narrowed down to these, none where it could not. */
  readonly ids: readonly number[];
  /** The owner; null where that is gone. */
  readonly user: UserReference | null;
  /** The first 12 hex digits of the SHA-256 of the value. */
  readonly fingerprint: string;
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
  /** The applications that the caller may see: all, or those of these names; names without one are left out. */
  applications(names?: readonly string[]): Promise<readonly Application[]>;
  /**
   * Streams the activity stream, oldest first.
   *
   * @throws TokenctlError `unsupported` where the target refuses one of the criteria, `permission_refused`
   * where the caller may not read it.
   */
  activity(selector: ActivitySelector): AsyncIterable<Activity>;
  /** When each of these users last changed anything by the activity stream; none for who never did. */
  lastChanges(userIds: readonly number[]): Promise<ReadonlyMap<number, Date>>;
  /**
   * The ids of tokens that may be the caller's own credential: empty with a password; one where the
   * target can tell; several where it can only narrow it down.
   */
  ownTokenIds(): Promise<readonly number[]>;
  /**
   * Revokes access tokens by id, several at a time, and yields one outcome for each, in any order. A
   * token that is gone already is `unchanged`. With `withRefreshTokens` the refresh token beside each is
   * revoked first (capability `refreshTokens`); without it, that one lives on. It throws only when no further token can be tried
   * (credentials refused, unreachable); what was yielded before holds.
   */
  revoke(
    tokenIds: readonly number[],
    options?: { readonly withRefreshTokens?: boolean },
  ): AsyncIterable<Outcome>;
  /** What a revocation of these tokens leaves alive here: what this target cannot end, or was told not to. */
  staysAlive(facts: {
    readonly tokensWithRefreshToken: number;
    readonly reach: Reach;
  }): Promise<readonly StaysAlive[]>;
  /**
   * Streams refresh tokens, each once, ascending by id.
   *
   * @throws TokenctlError `unsupported` without the capability, as the three after it do.
   */
  refreshTokens(selector: RefreshTokenSelector): AsyncIterable<RefreshToken>;
  /**
   * Revokes refresh tokens by id: sets `revoked`, and deletes the access token beside it if there is one,
   * as the controller does. The row stays. Outcomes as of `revoke`, `tokenId` being the refresh token's.
   */
  revokeRefreshTokens(ids: readonly number[]): AsyncIterable<Outcome>;
  /**
   * Deletes the rows of refresh tokens by id. Outcomes as of `revoke`: `revoked` stands for deleted.
   */
  deleteRefreshTokens(ids: readonly number[]): AsyncIterable<Outcome>;
  /**
   * Streams the sessions that have not expired.
   *
   * @throws TokenctlError `unsupported` without the capability, as `endSessions` does.
   */
  sessions(selector: SessionSelector): AsyncIterable<Session>;
  /** Ends the sessions that are meant, some at a time, and yields each that it ended. */
  endSessions(selector: SessionSelector): AsyncIterable<Session>;
  /**
   * Creates a personal access token.
   *
   * @throws TokenctlError `unsupported` for another user where the target creates tokens for its caller
   * only, `not_found` for a user that does not exist, `permission_refused` where settings forbid it.
   */
  createToken(request: TokenRequest): Promise<CreatedToken>;
  /**
   * Finds out whose these token values are, in the order given; yields nothing for one that is no token
   * here. A target that identifies by trying presents each value, which counts as a use, and finds no refresh
   * tokens. A value reaches nothing but the target.
   */
  identify(values: readonly Secret[]): AsyncIterable<Identified>;
  /**
   * Deactivates a user or activates one again.
   *
   * @returns Whether anything changed.
   * @throws TokenctlError `unsupported` without the capability, `not_found` for a user that does not exist,
   * `permission_refused`.
   */
  setUserActive(userId: number, active: boolean): Promise<boolean>;
  readonly settings: {
    read(): Promise<AuthenticationSettings>;
    /**
     * Writes the given keys and returns the settings as the target then has them. Null leaves a setting alone.
     *
     * @throws TokenctlError `unsupported` for a value of a setting that the target has not.
     */
    write(change: Partial<AuthenticationSettings>): Promise<AuthenticationSettings>;
  };
  /** Lets go of connections. */
  close(): Promise<void>;
}
