/** What a target can and cannot do. A plan says what the missing ones leave alive. */
export interface Capabilities {
  /** Refresh tokens can be listed and revoked without their value. */
  readonly refreshTokens: boolean;
  /** Sessions can be listed and ended. */
  readonly sessions: boolean;
  /** Tokens carry their last use (true), or can only be selected by it (false). */
  readonly lastUsed: boolean;
  /** Settings can be read and, with the rights, written. */
  readonly settings: boolean;
  /**
   * How soon a changed setting holds: a controller reads its table again after up to a minute. A gateway keeps
   * what it read in a cache, five minutes where nothing else is set, which only its API refreshes.
   */
  readonly settingsHold: 'at_once' | 'within_a_minute' | 'within_five_minutes';
  /** Tokens can be created: for the caller, or with a database for any user. */
  readonly createTokens: boolean;
  /** Users can be deactivated, and activated again. */
  readonly deactivateUsers: boolean;
  /** How it finds out whose a token's value is: by its hash in the tables, or by presenting it. */
  readonly identifies: 'by_hash' | 'by_trying';
  /** The credential may change things: a password may, a token as its scope says. */
  readonly changes: boolean;
  /**
   * How many tokens to hand it at a time: a few hundred where each is a request of its own, thousands where
   * one statement takes them all. More make an interruption slower, fewer the work.
   */
  readonly batchSize: number;
}

/** What a role of a database is to be used for. */
export type RightsPurpose = 'read' | 'revoke' | 'sessions' | 'settings' | 'create' | 'cleanup' | 'users';

/** Something that a role of a database may not do. */
export interface MissingRight {
  readonly purpose: RightsPurpose;
  /** What grants it, as an SQL statement without a semicolon. */
  readonly grant: string;
}

/** A target as found: who answers there, and who the caller is to it. */
export interface TargetDescription {
  /** The context's name. */
  readonly context: string;
  /** Where it is, without credentials: a base URL, or `postgresql://host:port/database`. */
  readonly address: string;
  /** Whose API answers, or whose tables are there; `service` is tokenctl's own service by its tables. */
  readonly dialect: 'controller' | 'gateway' | 'service';
  /**
   * Where a platform's gateway answers: which of its components that keep tokens it lists. Tokens from before
   * the platform had a gateway live on at its controller.
   */
  readonly components?: readonly ('gateway' | 'controller')[];
  /** The product version that the target states; null where it states none, as tables do not. */
  readonly version: string | null;
  /**
   * Who the caller is: a user, or the role of the database (`id` null). A role counts as superuser where
   * nothing is missing for revoking, and as system auditor where nothing is missing for reading.
   */
  readonly identity: {
    readonly id: number | null;
    readonly username: string;
    readonly isSuperuser: boolean;
    readonly isSystemAuditor: boolean;
  };
  /** How the tool authenticates there. */
  readonly credential: 'token' | 'password' | 'database_role';
  /**
   * How it travels. `https_unverified` and `tls_unverified` are TLS whose certificate nobody checks; `tls`,
   * `tls_unverified`, `plain` and `local` (a socket of this machine) are a database's.
   */
  readonly transport: 'https' | 'https_unverified' | 'http' | 'tls' | 'tls_unverified' | 'plain' | 'local';
  readonly capabilities: Capabilities;
  /** What a database role would need to be granted, by purpose; empty over REST. */
  readonly missingRights: readonly MissingRight[];
}
