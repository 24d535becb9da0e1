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
  /** Streams the users that the caller may see, ordered as tokens are. Throws `unsupported` for a filter. */
  list(selector?: UserSelector): AsyncIterable<User>;
  /**
   * The email addresses of users, and to which of some organizations they belong. Users that do not exist, or
   * that the caller may not see, are left out. A gateway's database tells no organizations.
   * @param names User names, exactly.
   */
  contacts(names: readonly string[], organizations: readonly string[]): Promise<readonly Contact[]>;
  /** All organizations or teams that the caller sees, by id. Throws `unsupported`, `permission_refused`. */
  groups(kind: GroupKind): Promise<readonly Group[]>;
  /**
   * The members and administrators of an organization or team through their own roles, ascending by id: rights that come by a team, or by
   * administering the organization of a team, make no one one.
   *
   * @throws TokenctlError `unsupported` where the target does not tell, `permission_refused` where not to this caller.
   */
  ofGroup(group: Pick<Group, 'kind' | 'id'>): Promise<readonly UserReference[]>;
  /** How identity providers know the users that the caller sees, by id. Throws `permission_refused`. */
  identities(): AsyncIterable<UserIdentities>;
  /**
   * The ids of the users with an email address, in any letter case, or with an account at an identity provider;
   * null if the target does not show accounts, or not to this caller.
   * @throws TokenctlError `permission_refused` where email addresses may not be read.
   */
  identified(by: UserIdentity): Promise<readonly number[] | null>;
  /**
   * Deactivates a user or activates one again.
   * @param options.spareLastSuperuser Refuses to deactivate the only active superuser, whoever else
   * deactivates superusers at the same time. Over REST only a superuser deactivates others, and is left.
   * @returns Whether anything changed.
   * @throws TokenctlError `unsupported` without the capability, `not_found` for a user that does not exist,
   * `permission_refused`, `lockout_refused` for the only active superuser.
   */
  setActive(userId: number, active: boolean, options?: SetActiveOptions): Promise<boolean>;
  /** The ids that the components of a platform share, by the id of the user; null where they cannot be read. Only in a database. */
  readonly resourceIds?: (() => Promise<ReadonlyMap<number, string> | null>) | undefined;
}

export interface SetActiveOptions {
  readonly spareLastSuperuser?: boolean | undefined;
}

/** How identity providers know a user. */
export interface UserIdentities {
  readonly id: number;
  /** As the user or an administrator entered it; null without one. */
  readonly email: string | null;
  /** The name of the user's entry in an LDAP directory; null without one. A gateway does not show it. */
  readonly ldapDn: string | null;
  /** Accounts at identity providers. */
  readonly accounts: readonly {
    /** The controller's name of the backend, such as `saml` or `oidc`; in a gateway the name of the authenticator. */
    readonly provider: string;
    /** The id of the account there, in the form of the backend: for SAML it begins with the name of the provider and a colon. */
    readonly uid: string;
  }[];
}
/** By what an identity provider knows a user. */
export type UserIdentity =
  | { readonly email: string }
  /** An account: the controller's name of the backend, or a gateway's slug or name of the authenticator, and the account's id. */
  | { readonly provider: string; readonly uid: string };

export interface Applications {
  /** Those that the caller may see: all, or those of these names; names without one are left out. */
  list(names?: readonly string[]): Promise<readonly Application[]>;
  /** An application; null without one of this id, or the caller may not see it. */
  find(id: number): Promise<ApplicationDetails | null>;
  /** Deletes an application, its access and refresh tokens and its codes. Returns whether it was there. */
  delete(id: number): Promise<boolean>;
  /**
   * Gives a confidential application a new client secret. Its tokens stay. Absent over REST, where no secret can be replaced.
   *
   * @param controllerKey The SECRET_KEY of a controller, which encrypts client secrets in its database.
   * @throws TokenctlError `not_found`, `unsupported` for a public client, `configuration` for a wrong key.
   */
  readonly replaceSecret?: ((id: number, controllerKey?: Secret) => Promise<Secret>) | undefined;
}

/** What was done at a target. */
export interface ActivityStream {
  /**
   * Streams the activity stream, oldest first.
   * @throws TokenctlError `unsupported` where the target refuses one of the criteria, `permission_refused`
   * where the caller may not read it.
   */
  list(selector: ActivitySelector): AsyncIterable<Activity>;
  /** When each of these users last changed anything by the activity stream; none for who never did. */
  lastChanges(userIds: readonly number[]): Promise<ReadonlyMap<number, Date>>;
}

/** Refresh tokens, without their values. */
export interface RefreshTokens {
  /** Streams refresh tokens, each once, ascending by id. */
  list(selector: RefreshTokenSelector): AsyncIterable<RefreshToken>;
  /**
   * Revokes refresh tokens by id: sets `revoked`, and deletes the access token beside it if there is one,
   * as the controller does. The row stays. Outcomes as of `Target.revoke`, `tokenId` being the refresh token's.
   */
  revoke(ids: readonly number[]): AsyncIterable<Outcome>;
  /** Deletes the rows of refresh tokens by id. Outcomes as of `Target.revoke`: `revoked` stands for deleted. */
  delete(ids: readonly number[]): AsyncIterable<Outcome>;
}

/** Authorization codes, without their values. */
export interface AuthorizationCodes {
  /** Streams authorization codes, each once, ascending by id. */
  list(selector: AuthorizationCodeSelector): AsyncIterable<AuthorizationCode>;
  /** Deletes authorization codes by id. Outcomes as of `Target.revoke`: `revoked` stands for deleted. */
  delete(ids: readonly number[]): AsyncIterable<Outcome>;
}

export interface Sessions {
  /** Streams the sessions that have not expired. */
  list(selector: SessionSelector): AsyncIterable<Session>;
  /** Ends the sessions that are meant, some at a time, and yields each that it ended. */
  end(selector: SessionSelector): AsyncIterable<Session>;
}

/** A transaction of another program in the database of a target. */
export interface OpenTransaction {
  /** Tells it from all others. */
  readonly key: string;
  /** The process of the server; null for a prepared transaction. */
  readonly pid: number | null;
  /** As the program calls itself; empty if it does not. */
  readonly program: string;
  /** For how many seconds it has been open, by the clock of the database; null if this role may not see that. */
  readonly seconds: number | null;
}

/** The transactions of other programs in the database of a target. */
export interface Transactions {
  /** Those that are open now, without those of the server itself. */
  open(): Promise<readonly OpenTransaction[]>;
  /** How long to wait for them to end, in milliseconds. */
  readonly timeoutMs: number;
}

/** Of a request that only a remark needs: how long to wait, without a second try. */
export interface Patience {
  readonly timeoutMs: number;
}

/** For settings that only a remark needs. They take a few milliseconds. */
export const PATIENCE: Patience = { timeoutMs: 5000 };

export interface Settings {
  /**
   * What only a remark needs is read with `knownSettings`.
   * @param patience Over REST. A wait of this kind that was in vain is not repeated.
   * @throws TokenctlError `permission_refused`, and what requests and statements throw.
   */
  read(patience?: Patience): Promise<AuthenticationSettings>;
  /** Writes the given keys (not null), and returns the settings as they are then. Throws `unsupported`. */
  write(change: Partial<AuthenticationSettings>): Promise<AuthenticationSettings>;
}

/** The passwords of local accounts. */
export interface Passwords {
  /** Sets the password of a user. Throws `unsupported` where the target rejects it. */
  set(userId: number, password: Secret): Promise<void>;
  /** Whether a request with this name and password is answered: false also where passwords are not accepted at all. */
  accepts(user: UserReference, password: Secret): Promise<boolean>;
}

export interface Roles {
  /** Those that a user holds directly, the flags first. */
  list(userId: number): Promise<readonly HeldRole[]>;
  /** Gives a user a role or flag, or takes it. */
  set(userId: number, role: HeldRole['role'], held: boolean): Promise<void>;
}

/** An application with what only one at a time is asked for. The client id is no secret (RFC 6749 §2.2). */
export interface ApplicationDetails extends Application {
  readonly description: string;
  readonly clientId: string;
  /** Null for none. */
  readonly organizationId: number | null;
  readonly redirectUris: readonly string[];
  /** Whether it gets tokens without the user's consent. */
  readonly skipAuthorization: boolean;
  /** How many id tokens of it are stored, expired ones included; absent where the target does not list them. */
  readonly idTokens?: number | undefined;
}

/** A role that a user holds directly, or a flag of the user that gives rights. */
export interface HeldRole {
  /**
   * The role's id; the flag in the controller's name without `is_`; or, in the newer tables of roles, `definition:`, the id of the
   * definition, and after a colon that of the object, which is empty for a role of the system.
   */
  readonly role: number | UserFlag | `definition:${string}`;
  /** As people read it: `Admin of organization Eng`. */
  readonly name: string;
}

/** The flags of a user that give rights everywhere. */
export type UserFlag = 'superuser' | 'system_auditor';

/** How a user is reached. */
export interface Contact {
  readonly id: number;
  readonly username: string;
  /** As the user or an administrator entered it; null without one. */
  readonly email: string | null;
  /** Those of the organizations asked for that the user is a member of, in the order asked. */
  readonly organizations: readonly string[];
}

/** Which users are meant; criteria that are present must all hold. No criterion means every user. */
export interface UserSelector {
  readonly ids?: readonly number[];
  /** User names, exactly. */
  readonly names?: readonly string[] | undefined;
  /** Deactivated users only. */
  readonly inactive?: true;
}

/** When a token is to expire. */
export interface TokenEnd {
  readonly id: number;
  readonly created: Date;
  /** What it may expire at until then, to the millisecond: a row with another expiry is left. */
  readonly from: readonly Date[];
  readonly to: Date;
}

/** Changes when tokens expire. */
export interface TokenEnds {
  /**
   * @returns The ids of those that expire then, of which some may have done so before.
   * @throws TokenctlError as the target; what was set before holds.
   */
  set(ends: readonly TokenEnd[]): Promise<readonly number[]>;
}

/** As of a selector of access tokens. */
type Whose = Pick<Selector, 'ids' | 'users' | 'userIds' | 'applications' | 'applicationIds'>;

/** Which refresh tokens are meant; criteria that are present must all hold. No criterion means every one. */
export interface RefreshTokenSelector extends Whose {
  /** One of these states. */
  readonly states?: readonly StoredRefreshTokenState[] | undefined;
  /** Made before this instant. */
  readonly createdBefore?: Date;
  readonly revokedBefore?: Date;
}

/** Which authorization codes are meant; criteria that are present must all hold. */
export interface AuthorizationCodeSelector extends Whose {
  /** `live` can be redeemed, by the clock of the target; `expired` cannot. */
  readonly state: 'live' | 'expired';
}

/** Which activity is meant; criteria that are present must all hold. No criterion means all. */
export interface ActivitySelector {
  /** Done by one of these users. */
  readonly actorIds?: readonly number[];
  /** About one of these access tokens: by its links, or where it is gone by the id in `changes`. */
  readonly tokenIds?: readonly number[];
  /** At or after this instant. */
  readonly since?: Date;
  /** Before this instant. */
  readonly until?: Date;
}

/** Whose sessions are meant: those of these users, or every one, those without a known user included. */
export type SessionSelector = { readonly userIds: readonly number[] } | { readonly all: true };

/**
 * The authentication settings that tokenctl knows, in the controller's names. Null is what the target has no
 * such setting for: a platform gateway keeps the lifetimes of tokens in a file, and knows no others of these; a controller without
 * single sign-on of its own (after 24.6.1) has nothing to allow for external users.
 */
export interface AuthenticationSettings extends PolicySettings {
  /**
   * How many sessions a user of a gateway has at most beside the newest; -1 for any number. Earlier gateways name it SESSIONS_PER_USER,
   * and mean the same; the first have neither. Null on a controller.
   */
  readonly MAX_EXTRA_SESSIONS_PER_USER: number | null;
  readonly DISABLE_LOCAL_AUTH: boolean | null;
  readonly OAUTH2_PROVIDER: TokenLifetimes | null;
  readonly LOGIN_REDIRECT_OVERRIDE: string;
  readonly ALLOW_METRICS_FOR_ANONYMOUS_USERS: boolean | null;
}

/** How long what is issued from now on lives, in seconds. */
export interface TokenLifetimes {
  readonly ACCESS_TOKEN_EXPIRE_SECONDS: number;
  readonly REFRESH_TOKEN_EXPIRE_SECONDS: number;
  readonly AUTHORIZATION_CODE_EXPIRE_SECONDS: number;
}
