/** The settings that rules judge, in the controller's names. Times are in seconds; null is what a target has not. */
export interface JudgedSettings {
  readonly AUTH_BASIC_ENABLED: boolean;
  readonly ALLOW_OAUTH2_FOR_EXTERNAL_USERS: boolean;
  readonly SESSION_COOKIE_AGE: number;
  readonly SESSIONS_PER_USER: number | null;
  readonly OAUTH2_PROVIDER: {
    readonly ACCESS_TOKEN_EXPIRE_SECONDS: number;
    readonly REFRESH_TOKEN_EXPIRE_SECONDS: number;
  } | null;
}

/** What rules know besides what they judge: gathered before, so that rules stay pure. */
export interface Facts {
  /** The instant at which everything is judged. */
  readonly now: Date;
  /** Tokens unused for the days of `unused-for`; needed where tokens do not carry their last use. */
  readonly unusedTokenIds: Ids;
  /** Tokens that were never used; needed where tokens do not carry their last use. */
  readonly neverUsedTokenIds: Ids;
  /** Ids of deactivated users. */
  readonly inactiveUserIds: Ids;
  /** Ids of users who may do everything. */
  readonly superuserIds: Ids;
  /** The kind of identity provider by user id, for external users. */
  readonly externalUsers: ReadonlyMap<number, string>;
  /** When a user last changed anything by the activity stream; none for who never did. */
  readonly lastChanges: ReadonlyMap<number, Date>;
  /** Null where no applied rule needs them. */
  readonly settings: JudgedSettings | null;
}

/** Some ids, as far as asking about one goes. */
interface Ids {
  has(id: number): boolean;
}

/** A kind of fact that a target may refuse to tell: the rules that need it are not checked then. */
export type Fact =
  | 'unused_tokens'
  | 'never_used_tokens'
  | 'users'
  | 'inactive_users'
  | 'last_changes'
  | 'settings'
  | 'token_lifetimes'
  | 'session_limit'
  | 'pkce'
  | 'applications'
  | 'refresh_tokens';
