import type { Secret } from '@tokenctl/common/secret.ts';
import type { Group, GroupKind } from '../../domain/groups.ts';
import type { Outcome } from '../../domain/plan.ts';
import type { PolicySettings } from '../../domain/policy/rule.ts';
import type { Selector } from '../../domain/selector.ts';
import type {
  Activity,
  Application,
  AuthorizationCode,
  RefreshToken,
  Session,
  StoredRefreshTokenState,
  User,
  UserReference,
} from '../../domain/token.ts';

export interface Users {
  /** Streams the users visible to the caller, in the order of tokens. Throws `unsupported` for a filter. */
  list(selector?: UserSelector): AsyncIterable<User>;
  /**
   * The email addresses of users, and which of these organizations they belong to. Users that do not exist or
   * are not visible are omitted. A gateway's database does not show organizations.
   * @param names User names, exactly.
   */
  contacts(names: readonly string[], organizations: readonly string[]): Promise<readonly Contact[]>;
  /** All organizations or teams visible to the caller, by id. Throws `unsupported`, `permission_refused`. */
  groups(kind: GroupKind): Promise<readonly Group[]>;
  /**
   * The members and administrators of an organization or team through its own roles, ascending by id. Rights
   * through a team, or through administering a team's organization, do not make a user a member.
   * @throws TokenctlError `unsupported` if the target does not show them, `permission_refused` if not to this
   * caller.
   */
  ofGroup(group: Pick<Group, 'kind' | 'id'>): Promise<readonly UserReference[]>;
  /** The identity provider data of the users visible to the caller, by id. Throws `permission_refused`. */
  identities(): AsyncIterable<UserIdentities>;
  /**
   * The ids of the users with an email address, ignoring letter case, or with an account at an identity
   * provider; null if the target does not show accounts to this caller.
   * @throws TokenctlError `permission_refused` if email addresses are not readable.
   */
  identified(by: UserIdentity): Promise<readonly number[] | null>;
  /**
   * Activates or deactivates a user.
   * @param options.spareLastSuperuser Refuses to deactivate the only active superuser, even if another
   * process deactivates superusers at the same time. Over REST, only a superuser can deactivate others, and
   * remains active.
   * @returns Whether anything changed.
   * @throws TokenctlError `unsupported` without the capability, `not_found` for a user that does not exist,
   * `permission_refused`, `lockout_refused` for the only active superuser.
   */
  setActive(userId: number, active: boolean, options?: SetActiveOptions): Promise<boolean>;
  /** The ids shared by the components of a platform, by user id; null if unreadable. Only in a database. */
  readonly resourceIds?: (() => Promise<ReadonlyMap<number, string> | null>) | undefined;
}

export interface SetActiveOptions {
  readonly spareLastSuperuser?: boolean | undefined;
}

/** How identity providers identify a user. */
export interface UserIdentities {
  readonly id: number;
  /** As entered by the user or an administrator; null if there is none. */
  readonly email: string | null;
  /** The DN of the user's entry in an LDAP directory; null if there is none. A gateway does not show it. */
  readonly ldapDn: string | null;
  readonly accounts: readonly {
    /**
     * The controller's name of the backend, such as `saml` or `oidc`; a gateway's name of the authenticator.
     */
    readonly provider: string;
    /** The account's id, in the backend's form: for SAML it starts with the provider's name and a colon. */
    readonly uid: string;
  }[];
}
export type UserIdentity =
  | { readonly email: string }
  /** An account's backend (a gateway's slug or name of the authenticator) and its id. */
  | { readonly provider: string; readonly uid: string };

export interface Applications {
  /** The applications visible to the caller: all, or those with these names. Unknown names are omitted. */
  list(names?: readonly string[]): Promise<readonly Application[]>;
  /** An application by id; null if it does not exist or is not visible. */
  find(id: number): Promise<ApplicationDetails | null>;
  /** Deletes an application with its access tokens, refresh tokens and codes. Returns whether it existed. */
  delete(id: number): Promise<boolean>;
  /**
   * Gives a confidential application a new client secret. Its tokens stay valid. Absent over REST, which
   * cannot replace secrets.
   * @param controllerKey The SECRET_KEY of a controller, which encrypts client secrets in its database.
   * @throws TokenctlError `not_found`, `unsupported` for a public client, `configuration` for a wrong key.
   */
  readonly replaceSecret?: ((id: number, controllerKey?: Secret) => Promise<Secret>) | undefined;
}

export interface ActivityStream {
  /**
   * Streams the activity stream, oldest first.
   * @throws TokenctlError `unsupported` if the target refuses one of the criteria, `permission_refused` if
   * the caller may not read it.
   */
  list(selector: ActivitySelector): AsyncIterable<Activity>;
  /** The last change by each of these users in the activity stream; users without one are omitted. */
  lastChanges(userIds: readonly number[]): Promise<ReadonlyMap<number, Date>>;
}

/** Refresh tokens, without their values. */
export interface RefreshTokens {
  /** Streams refresh tokens, each once, ascending by id. */
  list(selector: RefreshTokenSelector): AsyncIterable<RefreshToken>;
  /**
   * Revokes refresh tokens by id: sets `revoked`, and deletes the access token of each, if it has one, as the
   * controller does. The row stays. Outcomes as of `Target.revoke`, with the refresh token's id as `tokenId`.
   */
  revoke(ids: readonly number[]): AsyncIterable<Outcome>;
  /** Deletes the rows of refresh tokens by id. Outcomes as of `Target.revoke`: `revoked` means deleted. */
  delete(ids: readonly number[]): AsyncIterable<Outcome>;
}

/** Authorization codes, without their values. */
export interface AuthorizationCodes {
  /** Streams authorization codes, each once, ascending by id. */
  list(selector: AuthorizationCodeSelector): AsyncIterable<AuthorizationCode>;
  /** Deletes authorization codes by id. Outcomes as of `Target.revoke`: `revoked` means deleted. */
  delete(ids: readonly number[]): AsyncIterable<Outcome>;
}

export interface Sessions {
  /** Streams the unexpired sessions. */
  list(selector: SessionSelector): AsyncIterable<Session>;
  /** Ends the selected sessions in batches, and yields each ended session. */
  end(selector: SessionSelector): AsyncIterable<Session>;
}

/** A transaction of another program in a target's database. */
export interface OpenTransaction {
  /** Unique among all transactions. */
  readonly key: string;
  /** The server's process; null for a prepared transaction. */
  readonly pid: number | null;
  /** The program's own name; empty if it states none. */
  readonly program: string;
  /** How long it has been open, in seconds by the database's clock; null if this role may not see that. */
  readonly seconds: number | null;
}

/** The transactions of other programs in a target's database. */
export interface Transactions {
  /** The open transactions, without those of the server itself. */
  open(): Promise<readonly OpenTransaction[]>;
  /** The maximum wait for them to end, in milliseconds. */
  readonly timeoutMs: number;
}

/** For an optional request: the maximum wait, without a retry. */
export interface Patience {
  readonly timeoutMs: number;
}

/** For settings that only a remark needs. Reading them takes a few milliseconds. */
export const PATIENCE: Patience = { timeoutMs: 5000 };

export interface Settings {
  /**
   * For optional uses, read settings with `knownSettings`.
   * @param patience Over REST. After a timeout, such a wait is not repeated.
   * @throws TokenctlError `permission_refused`, and what requests and statements throw.
   */
  read(patience?: Patience): Promise<AuthenticationSettings>;
  /** Writes the given keys (not null), and returns the resulting settings. Throws `unsupported`. */
  write(change: Partial<AuthenticationSettings>): Promise<AuthenticationSettings>;
}

/** The passwords of local accounts. */
export interface Passwords {
  /** Throws `unsupported` if the target rejects the password. */
  set(userId: number, password: Secret): Promise<void>;
  /** Whether a request with this name and password is accepted: false also if passwords are disabled. */
  accepts(user: UserReference, password: Secret): Promise<boolean>;
}

export interface Roles {
  /** The roles that a user holds directly, flags first. */
  list(userId: number): Promise<readonly HeldRole[]>;
  /** Assigns or removes a role or flag. */
  set(userId: number, role: HeldRole['role'], held: boolean): Promise<void>;
}

/** An application with details that are read one at a time. The client id is not a secret (RFC 6749 §2.2). */
export interface ApplicationDetails extends Application {
  readonly description: string;
  readonly clientId: string;
  /** Null for none. */
  readonly organizationId: number | null;
  readonly redirectUris: readonly string[];
  /** Whether it gets tokens without the user's consent. */
  readonly skipAuthorization: boolean;
  /** Number of stored id tokens, including expired ones; absent if the target does not list them. */
  readonly idTokens?: number | undefined;
}

/** A role that a user holds directly, or a flag of the user that gives rights. */
export interface HeldRole {
  /**
   * The role's id; the flag, in the controller's name without `is_`; or, in the newer role tables,
   * `definition:`, the definition's id, and after a colon the object's id, which is empty for a system role.
   */
  readonly role: number | UserFlag | `definition:${string}`;
  /** The displayed name: `Admin of organization Eng`. */
  readonly name: string;
}

/** The flags of a user that give rights everywhere. */
export type UserFlag = 'superuser' | 'system_auditor';

export interface Contact {
  readonly id: number;
  readonly username: string;
  /** As entered by the user or an administrator; null if there is none. */
  readonly email: string | null;
  /** The requested organizations that the user is a member of, in the requested order. */
  readonly organizations: readonly string[];
}

/** Selects users. All criteria must match; without criteria, every user. */
export interface UserSelector {
  readonly ids?: readonly number[];
  /** User names, exactly. */
  readonly names?: readonly string[] | undefined;
  /** Deactivated users only. */
  readonly inactive?: true;
}

/** A new expiry of a token. */
export interface TokenEnd {
  readonly id: number;
  readonly created: Date;
  /** The accepted current expiries, to the millisecond: a row with another one is skipped. */
  readonly from: readonly Date[];
  readonly to: Date;
}

/** Changes when tokens expire. */
export interface TokenEnds {
  /**
   * @returns The ids of tokens that now expire then, including those that already did.
   * @throws TokenctlError as the target; what was set before remains.
   */
  set(ends: readonly TokenEnd[]): Promise<readonly number[]>;
}

/** As in a selector of access tokens. */
type Whose = Pick<Selector, 'ids' | 'users' | 'userIds' | 'applications' | 'applicationIds'>;

/** Selects refresh tokens. All criteria must match; without criteria, every refresh token. */
export interface RefreshTokenSelector extends Whose {
  readonly states?: readonly StoredRefreshTokenState[] | undefined;
  readonly createdBefore?: Date;
  readonly revokedBefore?: Date;
}

/** Selects authorization codes. All criteria must match. */
export interface AuthorizationCodeSelector extends Whose {
  /** `live` can be redeemed, by the target's clock; `expired` cannot. */
  readonly state: 'live' | 'expired';
}

/** Selects activity. All criteria must match; without criteria, all activity. */
export interface ActivitySelector {
  readonly actorIds?: readonly number[];
  /** About one of these access tokens: by its links, or for a deleted token by the id in `changes`. */
  readonly tokenIds?: readonly number[];
  /** At or after this instant. */
  readonly since?: Date;
  /** Before this instant. */
  readonly until?: Date;
}

/** Selects the sessions of these users, or all sessions, including those without a known user. */
export type SessionSelector = { readonly userIds: readonly number[] } | { readonly all: true };

/**
 * The authentication settings that tokenctl knows, by the controller's names. Null if the target has no such
 * setting: a platform gateway keeps token lifetimes in a file and has none of the others; a controller
 * without its own single sign-on (after 24.6.1) has no external users to allow.
 */
export interface AuthenticationSettings extends PolicySettings {
  /**
   * The maximum number of sessions of a gateway's user, not counting the newest; -1 for no limit. Earlier
   * gateways call it SESSIONS_PER_USER, with the same meaning; the first have neither. Null on a controller.
   */
  readonly MAX_EXTRA_SESSIONS_PER_USER: number | null;
  readonly DISABLE_LOCAL_AUTH: boolean | null;
  readonly OAUTH2_PROVIDER: TokenLifetimes | null;
  readonly LOGIN_REDIRECT_OVERRIDE: string;
  readonly ALLOW_METRICS_FOR_ANONYMOUS_USERS: boolean | null;
}

/** The lifetimes of newly issued tokens and codes, in seconds. */
export interface TokenLifetimes {
  readonly ACCESS_TOKEN_EXPIRE_SECONDS: number;
  readonly REFRESH_TOKEN_EXPIRE_SECONDS: number;
  readonly AUTHORIZATION_CODE_EXPIRE_SECONDS: number;
}
