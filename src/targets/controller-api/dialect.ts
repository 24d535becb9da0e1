import type { Activity, User } from '../../domain/token.ts';
import type { AuthenticationSettings } from '../../operations/ports/authentication-settings.ts';
import type { ActivitySelector } from '../../operations/ports/target-selectors.ts';
import type { Api } from './api.ts';
import type { Query } from './query.ts';

/** Reads what a body stands for; null for what is none. */
export type Reader<Item> = (body: unknown) => Item | null;

/**
 * How a component speaks where it differs from others: all else (the paths of tokens, users and applications
 * below its root, filters and pages) a controller and a platform gateway have in common.
 */
export interface Dialect {
  readonly name: 'controller' | 'gateway';
  /** Whether a token's body tells its last use. */
  readonly tellsLastUse: boolean;
  /** Reads a user as far as the body alone tells. */
  readonly readUser: Reader<User>;
  /** Finds out what is needed to read users with the identity provider that each comes from. */
  userReader(api: Api): Promise<Reader<User>>;
  readonly activity: ActivityDialect;
  readonly settings: SettingsDialect;
}

/** An entry of the activity stream, and the access tokens that it is about. */
export interface FoundActivity extends Activity {
  readonly tokenIds: readonly number[];
}

/** Where the activity stream is, and how it is asked. */
export interface ActivityDialect {
  readonly path: string;
  /** The questions that together name at least what a selector names. */
  queries(selector: ActivitySelector): Query[];
  /** The question for what a user did last. */
  lastOf(userId: number): Query;
  readonly read: Reader<FoundActivity>;
}

/** Where the authentication settings are, and how they are written. */
export interface SettingsDialect {
  readonly path: string;
  /** The method that changes some and leaves the others. */
  readonly method: 'PATCH' | 'PUT';
  readonly read: Reader<AuthenticationSettings>;
  /**
   * The body that makes a change.
   *
   * @throws TokenctlError `unsupported` for settings that there are not.
   */
  bodyOf(change: Partial<AuthenticationSettings>): object;
}
