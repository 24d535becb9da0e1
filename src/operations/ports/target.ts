import type { Secret } from '@tokenctl/common/secret.ts';
import type { Standby, Visibility } from '../../domain/claims.ts';
import type { ClockDifference } from '../../domain/clock-difference.ts';
import type { Outcome } from '../../domain/plan.ts';
import type { Condition } from '../../domain/policy/condition.ts';
import type { CountedToken } from '../../domain/policy/rule.ts';
import type { Rows } from '../../domain/rows.ts';
import type { Selector } from '../../domain/selector.ts';
import type { PlannedToken, Token, UserReference } from '../../domain/token.ts';
import type { Clock } from './clock.ts';
import type { OpenNames } from './evidence.ts';
import type {
  ActivityStream,
  Applications,
  AuthorizationCodes,
  Passwords,
  RefreshTokens,
  Roles,
  Sessions,
  Settings,
  TokenEnds,
  Transactions,
  Users,
} from './target-parts.ts';

/** What a token is created with. */
export interface TokenRequest {
  /** As of `Token.scope`. */
  readonly scope: string;
  readonly description: string;
  /** Whose it is to be; the caller's where absent, which a database refuses: a role is no user. */
  readonly user?: string | undefined;
  /** How long it is valid, in seconds; as the settings say where absent. Over REST, only tokenctl's own service takes one. */
  readonly lifetime?: number | undefined;
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
  /** The owner; null where that is gone, or was not asked for. */
  readonly user: UserReference | null;
  /** The first 12 hex digits of the SHA-256 of the value. */
  readonly fingerprint: string;
  /** The last use before it was identified, rounded down to seconds over REST; null for never; absent where it is unknown. */
  readonly lastUsed?: Date | null | undefined;
  /** When identifying it counted as a use, by the clock of the target; null if it did not. */
  readonly usedAt: Date | null;
  /** Only a use tells which of `ids` it is, and none was made. */
  readonly needsUse?: true;
}

/** The uses of tokens that an identification is about to make. */
export interface IntendedUse {
  /** How many values are sent. */
  readonly values: number;
  /** The tokens that they may be, with the last use before where it is known; none where the owners are not known yet. */
  readonly tokens: readonly {
    readonly id: number;
    readonly user: string;
    readonly created: Date;
    readonly lastUsed?: Date | null | undefined;
  }[];
}

/** A token that was identified before: its number, and when it was made. */
export interface KnownToken {
  readonly id: number;
  readonly created: Date;
}

/** How token values are identified. */
export interface IdentifyOptions {
  /** Finds out no more than whether each value is accepted. */
  readonly liveOnly?: boolean;
  /**
   * Sends no request whose purpose is to set the last use of a token: one that only such a request tells apart is yielded
   * with all ids that it may be, and `needsUse`. A target on which any request may be a use tries the values nevertheless.
   */
  readonly withoutUse?: boolean;
  /** Tokens that were identified before, by fingerprint: they need no use where the target lists them unchanged. */
  readonly known?: ReadonlyMap<string, KnownToken>;
  /** Called once before the first request that may set the last use of a token; not called without such a request. */
  readonly beforeUse?: (use: IntendedUse) => Promise<void>;
}

/**
 * One way to reach one controller: what every target does, and the parts that only some have. A part that a target lacks is
 * absent; `partOf` asks for one and says what to use instead. Every method throws `TokenctlError` (`credentials_refused`,
 * `permission_refused`, `target_unreachable`, `target_misbehaved`, `unsupported`).
 */
export interface Target {
  /** Finds out who answers and who the caller is. Reads only. */
  describe(): Promise<TargetDescription>;
  /**
   * Streams what the selector names, each token once, a page at a time and never all at once; ascending by
   * id, save that a selector too long for one question is asked in parts, one part after the other.
   * @throws TokenctlError `unsupported` where the target refuses one of the criteria.
   */
  tokens(selector: Selector): Rows<Token>;
  /**
   * The same tokens as `tokens`, with only what a plan counts; absent where that is no cheaper. The creation
   * of a refresh token is told, that of the access token is not.
   * @throws TokenctlError as `tokens` does.
   */
  tokensToPlan?(selector: Selector): Rows<PlannedToken>;
  /**
   * Tells of each of the same tokens, once, which conditions it meets (a bit each, the lowest for the first;
   * 31 conditions at most). Absent where that is no cheaper than `tokens`.
   * @param each Must not keep the token: it is the same object for all.
   * @returns False, with nothing told, if it cannot decide them as they are judged in place.
   * @throws TokenctlError as `tokens` does.
   */
  countTokens?(
    selector: Selector,
    conditions: readonly Condition[],
    each: (token: CountedToken, met: number) => void,
  ): Promise<boolean>;
  /**
   * The ids of tokens that may be the caller's own credential: empty with a password; one where the
   * target can tell; several where it can only narrow it down.
   */
  ownTokenIds(): Promise<readonly number[]>;
  /**
   * Revokes access tokens by id, several at a time, and yields one outcome for each, in any order. A
   * token that is gone already is `unchanged`. With `withRefreshTokens` the refresh token beside each is
   * revoked first (with the part `refreshTokens` only); without it, that one lives on. It throws only when no further token can be tried
   * (credentials refused, unreachable); what was yielded before holds. Once `signal` is aborted, a target that sends a
   * request for each token begins no further one: the tokens that were not begun have no outcome. An answer that does not come
   * within a second after that is no longer awaited: the outcome is `failed`, with an unknown result.
   */
  revoke(
    tokenIds: readonly number[],
    options?: { readonly withRefreshTokens?: boolean; readonly signal?: AbortSignal | undefined },
  ): AsyncIterable<Outcome>;
  /**
   * Creates a personal access token.
   *
   * @throws TokenctlError `unsupported` for another user where the target creates tokens for its caller
   * only, and for a lifetime where the settings alone decide it, `not_found` for a user that does not exist, `permission_refused` where settings forbid it.
   */
  createToken(request: TokenRequest): Promise<CreatedToken>;
  /** Only in a database: when tokens expire can be changed. */
  readonly ends?: TokenEnds | undefined;
  /** How `identify` finds out whose a token's value is: by its hash in the tables, or by presenting it. */
  readonly identifies: 'by_hash' | 'by_trying';
  /**
   * Finds out whose these token values are, in the order given; yields nothing for one that is no token here.
   * A target that identifies by trying presents each value, which may count as a use, and finds no refresh
   * tokens. A value reaches nothing but the target.
   * @throws Whatever `beforeUse` throws.
   */
  identify(values: readonly Secret[], options?: IdentifyOptions): AsyncIterable<Identified>;
  readonly users: Users;
  readonly applications: Applications;
  readonly activity: ActivityStream;
  readonly settings: Settings;
  /** Only in a database whose role may read them. */
  readonly refreshTokens?: RefreshTokens | undefined;
  /** Only in a database whose role may read and delete them. */
  readonly authorizationCodes?: AuthorizationCodes | undefined;
  /** Only in a database that records the users of sessions, and whose role may read them. */
  readonly sessions?: Sessions | undefined;
  /** Only in a database: what others have begun to write is not listed yet. */
  readonly transactions?: Transactions | undefined;
  /** Over REST only. */
  readonly passwords?: Passwords | undefined;
  /** Over REST only; the description says whether this account may. */
  readonly roles?: Roles | undefined;
  close(): Promise<void>;
}

/** What the caller may do at a target, and how the target does it. Whether it has a part, the part's presence says. */
export interface Capabilities {
  /**
   * A gateway reads sessions from a cache first, and this target cannot reach it: a session that was ended in the database is
   * accepted for up to SESSION_COOKIE_AGE, unless its user is deactivated. Absent if the part `sessions` covers the cache.
   */
  readonly sessionsCached?: true;
  /**
   * There are sessions whose owner neither a table nor a cache tells: those of a user may be among them. The first gateways
   * record no owners (`all`). Later ones record them whenever a session is saved, so that a session without an owner (`some`) is
   * of no user, or from before the upgrade and not extended since.
   */
  readonly sessionsUnowned?: 'all' | 'some';
  /** When the last session without a known owner expires (RFC 3339), unless it is used; with `sessionsUnowned` only. */
  readonly sessionsUnownedUntil?: string;
  /** Tokens carry their last use (true), or can only be selected by it (false). */
  readonly lastUsed: boolean;
  /**
   * How soon a changed setting holds. Over its API, the worker of a controller that answered has it at once, the others
   * within five seconds; a table is read again after up to a minute. A gateway keeps what it read in a cache, five
   * minutes where nothing else is set, which only its API refreshes.
   */
  readonly settingsHold: 'at_once' | 'within_seconds' | 'within_a_minute' | 'within_five_minutes';
  /** Users can be deactivated, and activated again. */
  readonly deactivateUsers: boolean;
  /** The roles of users can be listed, taken and given by this account; absent where they cannot. */
  readonly roles?: true;
  /** The credential may change things: a password may, a token as its scope says. */
  readonly changes: boolean;
  /**
   * How many tokens to hand it at a time: a few hundred where each is a request of its own, thousands where
   * one statement takes them all. More make an interruption slower, fewer the work.
   */
  readonly batchSize: number;
}

/** What a role of a database is to be used for. */
export type RightsPurpose =
  | 'read'
  | 'revoke'
  | 'sessions'
  | 'settings'
  | 'create'
  | 'ends'
  | 'cleanup'
  | 'users'
  | 'applications'
  | 'contacts';

/** Something that a role of a database may not do. */
export interface MissingRight {
  readonly purpose: RightsPurpose;
  /** What grants it, as an SQL statement without a semicolon. */
  readonly grant: string;
  /** Present if it is about authorization codes only: everything else of the purpose works without it. */
  readonly codesOnly?: true;
}

/** A target as found: who answers there, and who the caller is to it. */
export interface TargetDescription {
  /** The context's name. */
  readonly context: string;
  /** Where it is, without credentials: a base URL, or `postgresql://host:port/database`. */
  readonly address: string;
  /** The configured context for the database of the same controller; only over REST. */
  readonly databaseContext?: string | undefined;
  /**
   * Whose API answers, or whose tables are there. `service` is tokenctl's own service: by its tables, or over REST because it says so,
   * which any server can. What looks for an intruder must not leave out a check for that word alone.
   */
  readonly dialect: 'controller' | 'gateway' | 'service';
  /**
   * Where a platform's gateway answers: which of its components that keep tokens it lists. Tokens from before
   * the platform had a gateway live on at its controller.
   */
  readonly components?: readonly ('gateway' | 'controller')[];
  /**
   * The INSTALL_UUID of a controller: the same over REST and in its database, so that the audit log can tell that two
   * addresses are one controller. Null if the target states none, as a gateway does.
   */
  readonly installUuid: string | null;
  /** The product version that the target states; null where it states none, as tables do not. */
  readonly version: string | null;
  /**
   * Who the caller is: a user, or the role of the database (`id` null). A role is a superuser if it is one of the database server,
   * and never a system auditor: what it may do, `missingRights` says.
   */
  readonly identity: {
    readonly id: number | null;
    readonly username: string;
    readonly isSuperuser: boolean;
    readonly isSystemAuditor: boolean;
  };
  /** What the caller sees of tokens, users and applications. What it may not see is left out of every list. */
  readonly visibility: Visibility;
  /** Of a standby of the database, how far it is behind; absent at a primary, and over REST. */
  readonly standby?: Standby;
  /** How its clock differs from that of this machine; absent if it does not tell the time. */
  readonly clock?: ClockDifference | undefined;
  /** How the tool authenticates there. */
  readonly credential: 'token' | 'password' | 'database_role';
  /**
   * How it travels. `https_unverified` and `tls_unverified` are TLS without certificate verification; `tls`,
   * `tls_unverified`, `plain` and `local` (a socket of this machine) are a database's.
   */
  readonly transport: 'https' | 'https_unverified' | 'http' | 'tls' | 'tls_unverified' | 'plain' | 'local';
  /** The proxy on the way, without credentials; absent without one. */
  readonly proxy?: string;
  readonly capabilities: Capabilities;
  /** What a database role would need to be granted, by purpose; empty over REST. */
  readonly missingRights: readonly MissingRight[];
  /**
   * Whether a gateway stores working tokens in clear, as its first releases do. Absent where that cannot be read (over
   * REST, without the right), and for a controller, which stores all tokens in clear.
   */
  readonly tokensInClear?: boolean;
  /**
   * Live access tokens of a gateway that are not stored as its newest tokens, which are hashed (`hashes`), or of which it is
   * not known how it stores tokens, as it has no others. Releases of tokenctl before 0.2 stored hashes without the
   * gateway's prefix. Some of the ids; null without any, or if the gateway stores tokens in clear.
   */
  readonly unhashedTokens?: {
    readonly hashes: boolean;
    readonly count: number;
    readonly ids: readonly number[];
  } | null;
  /** The configured session cache of a gateway, and why it cannot be used, if so. */
  readonly sessionCache?: { readonly addresses: readonly string[]; readonly problem: string | null };
}

/** A target that is read: what it is, and the clock by which its records are dated. */
export interface ReadTarget {
  readonly target: Target;
  readonly description: TargetDescription;
  readonly clock: Clock;
  /** Opens what the target keeps of names. Without it, names count as not read. */
  readonly openNames?: OpenNames | undefined;
}

/** What was read in a database, or why nothing was, as a sentence without a full stop. */
type Answer<Found> = { readonly found: Found } | { readonly problem: string };

/** The database of the controller that a context reaches over REST: what that API does not list is read there. */
export interface LinkedDatabase {
  /** The database context. */
  readonly context: string;
  /** Reads in the database, for a few seconds at most. One that cannot be used is no error. */
  ask<Found>(read: (at: ReadTarget) => Promise<Found>): Promise<Answer<Found>>;
}
