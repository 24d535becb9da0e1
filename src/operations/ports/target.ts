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

export interface TokenRequest {
  /** As in `Token.scope`. */
  readonly scope: string;
  readonly description: string;
  /** The owner; default: the caller, which a database refuses, because a role is not a user. */
  readonly user?: string | undefined;
  /** The lifetime in seconds; default: from the settings. Over REST, only tokenctl's service accepts one. */
  readonly lifetime?: number | undefined;
}

/** A created token: its record, and its value, which is returned only once. */
export interface CreatedToken {
  readonly token: Token;
  readonly value: Secret;
}

/** The identified owner of a token's value. The value itself is not included. */
export interface Identified {
  /** The index of the value in the given list. */
  readonly index: number;
  readonly kind: 'access_token' | 'refresh_token';
  /** Whether it is accepted, as far as the target can tell. */
  readonly live: boolean;
  /** The token's id; several if it could only be narrowed down, none if it could not be identified. */
  readonly ids: readonly number[];
  /** The owner; null if it was deleted or not requested. */
  readonly user: UserReference | null;
  /** The first 12 hex digits of the SHA-256 of the value. */
  readonly fingerprint: string;
  /** The last use before it was identified, in whole seconds over REST; null for never; absent if unknown. */
  readonly lastUsed?: Date | null | undefined;
  /** When the identification counted as a use, by the target's clock; null if it did not. */
  readonly usedAt: Date | null;
  /** Only a use can tell which of `ids` it is, and none was made. */
  readonly needsUse?: true;
}

/** The token uses that an identification is about to make. */
export interface IntendedUse {
  readonly values: number;
  /** The candidate tokens, with the last use before if known; empty if the owners are not known yet. */
  readonly tokens: readonly {
    readonly id: number;
    readonly user: string;
    readonly created: Date;
    readonly lastUsed?: Date | null | undefined;
  }[];
}

/** A token that was identified before: its id and creation time. */
export interface KnownToken {
  readonly id: number;
  readonly created: Date;
}

export interface IdentifyOptions {
  /** Only finds out whether each value is accepted. */
  readonly liveOnly?: boolean;
  /**
   * Sends no request that only serves to set the last use of a token: a token that needs such a request is
   * yielded with all candidate ids and `needsUse`. A target on which any request may count as a use still
   * tries the values.
   */
  readonly withoutUse?: boolean;
  /** Tokens identified before, by fingerprint: they need no use if the target lists them unchanged. */
  readonly known?: ReadonlyMap<string, KnownToken>;
  /** Called once before the first request that may set the last use of a token, if there is one. */
  readonly beforeUse?: (use: IntendedUse) => Promise<void>;
}

/**
 * One way to access one controller: what every target does, and the parts that only some targets have. A part
 * that a target lacks is absent; `partOf` requires one and says what to use instead. Every method throws
 * `TokenctlError` (`credentials_refused`, `permission_refused`, `target_unreachable`, `target_misbehaved`,
 * `unsupported`).
 */
export interface Target {
  /** Finds out what the target is and who the caller is. Reads only. */
  describe(): Promise<TargetDescription>;
  /**
   * Streams the selected tokens, each once, page by page and never all at once; ascending by id, except that
   * a selector too long for one request is split, one part after the other.
   * @throws TokenctlError `unsupported` if the target refuses one of the criteria.
   */
  tokens(selector: Selector): Rows<Token>;
  /**
   * The same tokens as `tokens`, with only what a plan counts; absent if that is no cheaper. Includes the
   * creation time of the refresh token, not of the access token.
   * @throws TokenctlError as `tokens` does.
   */
  tokensToPlan?(selector: Selector): Rows<PlannedToken>;
  /**
   * Reports for each of the same tokens, once, which conditions it meets (one bit each, the lowest for the
   * first; at most 31 conditions). Absent if that is no cheaper than `tokens`.
   * @param each Must not keep the token: the same object is reused.
   * @returns False, without any report, if the target cannot evaluate the conditions exactly as they are
   * evaluated in memory.
   * @throws TokenctlError as `tokens` does.
   */
  countTokens?(
    selector: Selector,
    conditions: readonly Condition[],
    each: (token: CountedToken, met: number) => void,
  ): Promise<boolean>;
  /**
   * The ids of tokens that may be the caller's own credential: empty with a password; one if the target can
   * tell; several if it can only narrow it down.
   */
  ownTokenIds(): Promise<readonly number[]>;
  /**
   * Revokes access tokens by id, several at a time, and yields one outcome for each, in any order. A token
   * that no longer exists is `unchanged`. With `withRefreshTokens` the refresh token of each is revoked first
   * (with the part `refreshTokens` only); without it, that one stays live. Throws only if no further token
   * can be tried (credentials refused, unreachable); outcomes yielded before remain valid. Once `signal` is
   * aborted, a target that sends a request per token starts no further one: the remaining tokens have no
   * outcome. A response that takes longer than a second after that is no longer awaited: the outcome is
   * `failed`, with an unknown result.
   */
  revoke(
    tokenIds: readonly number[],
    options?: { readonly withRefreshTokens?: boolean; readonly signal?: AbortSignal | undefined },
  ): AsyncIterable<Outcome>;
  /**
   * Creates a personal access token.
   * @throws TokenctlError `unsupported` for another user if the target creates tokens for its caller only,
   * and for a lifetime if only the settings decide it, `not_found` for a user that does not exist,
   * `permission_refused` if settings forbid it.
   */
  createToken(request: TokenRequest): Promise<CreatedToken>;
  /** Only in a database, where the expiry of tokens can be changed. */
  readonly ends?: TokenEnds | undefined;
  /** How `identify` finds the owner of a token's value: by its hash in the tables, or by presenting it. */
  readonly identifies: 'by_hash' | 'by_trying';
  /**
   * Identifies the owners of token values, in the given order; yields nothing for a value that is not a token
   * here. A target that identifies by trying presents each value, which may count as a use, and finds no
   * refresh tokens. A value is sent only to the target.
   * @throws Whatever `beforeUse` throws.
   */
  identify(values: readonly Secret[], options?: IdentifyOptions): AsyncIterable<Identified>;
  readonly users: Users;
  readonly applications: Applications;
  readonly activity: ActivityStream;
  readonly settings: Settings;
  /** Only in a database, if the role may read them. */
  readonly refreshTokens?: RefreshTokens | undefined;
  /** Only in a database, if the role may read and delete them. */
  readonly authorizationCodes?: AuthorizationCodes | undefined;
  /** Only in a database that records the users of sessions, if the role may read them. */
  readonly sessions?: Sessions | undefined;
  /** Only in a database: uncommitted writes of others are not listed yet. */
  readonly transactions?: Transactions | undefined;
  /** Over REST only. */
  readonly passwords?: Passwords | undefined;
  /** Over REST only; the description says whether this account may use it. */
  readonly roles?: Roles | undefined;
  close(): Promise<void>;
}

/** What the caller may do at a target, and how the target does it. Optional parts show by their presence. */
export interface Capabilities {
  /**
   * A gateway reads sessions from a cache first, and this target cannot reach it: a session that was ended in
   * the database is accepted for up to SESSION_COOKIE_AGE, unless its user is deactivated. Absent if the part
   * `sessions` covers the cache.
   */
  readonly sessionsCached?: true;
  /**
   * There are sessions whose owner neither a table nor a cache shows: a user's sessions may be among them.
   * The first gateways record no owners (`all`). Later ones record them whenever a session is saved, so that
   * a session without an owner (`some`) belongs to no user, or is from before the upgrade and was not
   * extended since.
   */
  readonly sessionsUnowned?: 'all' | 'some';
  /**
   * When the last session without a known owner expires (RFC 3339) if unused; with `sessionsUnowned` only.
   */
  readonly sessionsUnownedUntil?: string;
  /** Tokens include their last use (true), or can only be selected by it (false). */
  readonly lastUsed: boolean;
  /**
   * How soon a changed setting is effective. Over a controller's API, the worker that answered applies it
   * immediately, the others within five seconds; a changed table is re-read after up to a minute. A gateway
   * caches settings, for five minutes by default, and only its API refreshes the cache.
   */
  readonly settingsHold: 'at_once' | 'within_seconds' | 'within_a_minute' | 'within_five_minutes';
  /** Users can be activated and deactivated. */
  readonly deactivateUsers: boolean;
  /** This account can list, assign and remove users' roles; absent if it cannot. */
  readonly roles?: true;
  /** The credential allows changes: a password does, a token depends on its scope. */
  readonly changes: boolean;
  /**
   * How many tokens to pass at a time: a few hundred if each is a separate request, thousands if one
   * statement handles all. More make an interruption slower, fewer make the work slower.
   */
  readonly batchSize: number;
}

/** The purposes for which a database role needs rights. */
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

/** A right that a database role lacks. */
export interface MissingRight {
  readonly purpose: RightsPurpose;
  /** The statement that grants it, in SQL without a semicolon. */
  readonly grant: string;
  /** Present if it concerns only authorization codes: everything else of the purpose works without it. */
  readonly codesOnly?: true;
}

/** What a target is, and who the caller is to it. */
export interface TargetDescription {
  /** The context's name. */
  readonly context: string;
  /** The location, without credentials: a base URL, or `postgresql://host:port/database`. */
  readonly address: string;
  /** The configured context for the database of the same controller; only over REST. */
  readonly databaseContext?: string | undefined;
  /**
   * Whose API or tables these are. `service` is tokenctl's own service: by its tables, or over REST because
   * it says so, which any server can claim. Searches for an intruder must not skip a check because of that
   * claim alone.
   */
  readonly dialect: 'controller' | 'gateway' | 'service';
  /**
   * At a platform's gateway: which of its components that store tokens it lists. Tokens from before the
   * platform had a gateway still exist at its controller.
   */
  readonly components?: readonly ('gateway' | 'controller')[];
  /**
   * The INSTALL_UUID of a controller: the same over REST and in its database, so that the audit log can tell
   * that two addresses are the same controller. Null if the target has none, such as a gateway.
   */
  readonly installUuid: string | null;
  /** The product version; null if the target does not state one, as with tables. */
  readonly version: string | null;
  /**
   * The caller: a user, or the database role (`id` null). A role is a superuser if it is one of the database
   * server, and never a system auditor: `missingRights` says what it may do.
   */
  readonly identity: {
    readonly id: number | null;
    readonly username: string;
    readonly isSuperuser: boolean;
    readonly isSystemAuditor: boolean;
  };
  /** What the caller sees of tokens, users and applications. Other objects are missing from every list. */
  readonly visibility: Visibility;
  /** How far a standby of the database is behind; absent at a primary, and over REST. */
  readonly standby?: Standby;
  /** The difference from this machine's clock; absent if the target does not report the time. */
  readonly clock?: ClockDifference | undefined;
  readonly credential: 'token' | 'password' | 'database_role';
  /**
   * The transport. `https_unverified` and `tls_unverified` are TLS without certificate verification; `tls`,
   * `tls_unverified`, `plain` and `local` (a local socket) are for databases.
   */
  readonly transport: 'https' | 'https_unverified' | 'http' | 'tls' | 'tls_unverified' | 'plain' | 'local';
  /** The proxy used, without credentials; absent if none is used. */
  readonly proxy?: string;
  readonly capabilities: Capabilities;
  /** The rights that a database role lacks, by purpose; empty over REST. */
  readonly missingRights: readonly MissingRight[];
  /**
   * Whether a gateway stores working tokens in clear text, as its first releases do. Absent if unreadable
   * (over REST, or without the right), and for a controller, which stores all tokens in clear text.
   */
  readonly tokensInClear?: boolean;
  /**
   * Live access tokens of a gateway that are stored differently from its newest tokens, which are hashed
   * (`hashes`), or for which the gateway's storage is unknown, because it has no other tokens. Releases of
   * tokenctl before 0.2 stored hashes without the gateway's prefix. Some of the ids; null if there are none,
   * or if the gateway stores tokens in clear text.
   */
  readonly unhashedTokens?: {
    readonly hashes: boolean;
    readonly count: number;
    readonly ids: readonly number[];
  } | null;
  /** The configured session cache of a gateway, and why it cannot be used, if so. */
  readonly sessionCache?: { readonly addresses: readonly string[]; readonly problem: string | null };
}

/** A target to read, with its description and the clock that dates its records. */
export interface ReadTarget {
  readonly target: Target;
  readonly description: TargetDescription;
  readonly clock: Clock;
  /** Opens the sources about user names. Without it, the names' history counts as unread. */
  readonly openNames?: OpenNames | undefined;
}

/** The result of reading a database, or why it was not read, as a sentence without a full stop. */
type Answer<Found> = { readonly found: Found } | { readonly problem: string };

/** The database of a controller that a context accesses over REST, for data that the API does not list. */
export interface LinkedDatabase {
  /** The database context. */
  readonly context: string;
  /** Reads from the database, for a few seconds at most. An unusable database is not an error. */
  ask<Found>(read: (at: ReadTarget) => Promise<Found>): Promise<Answer<Found>>;
}
