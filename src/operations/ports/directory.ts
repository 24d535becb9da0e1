import type { DirectoryUser, DirectoryUsers, Identifier } from '../../domain/directory-users.ts';

/** A source of current and disabled users: an LDAP directory, or the API of an identity provider. */
export interface Directory {
  /** Its name in the configuration. */
  readonly name: string;
  /**
   * Reads all users, each once. An account that expired before `now`, by the controller's clock, is disabled.
   * Throws if the answer is incomplete or unavailable.
   */
  read(options: { readonly now: Date; readonly signal?: AbortSignal | undefined }): Promise<DirectoryUsers>;
  /**
   * Queries users one by one, regardless of what {@link read} listed: a truncated list may look complete.
   * @returns An answer to each question, in the same order. The failure of a question is its answer.
   * @throws TokenctlError if nothing can be queried.
   */
  lookUp(
    asked: readonly Identifier[],
    options: { readonly now: Date; readonly signal?: AbortSignal | undefined },
  ): Promise<readonly DirectAnswer[]>;
  /** How users of the controller are matched with its users. */
  readonly rules: MatchRules;
}

/** The users with an identifier; or why the directory did not answer, as a clause. */
export type DirectAnswer = { readonly found: readonly DirectoryUser[] } | { readonly why: string };

/** How users of the controller are matched with users of a directory. */
export interface MatchRules {
  /**
   * The controller's backends whose accounts belong to this directory: users with such an account who are not
   * in the directory have left. If empty, a missing user is only listed.
   */
  readonly accounts: readonly string[];
  /**
   * Normalized base DNs of the users of an LDAP directory; absent for other directories. A user with another
   * LDAP name, or without an LDAP name and without an account of `accounts`, belongs to another directory.
   */
  readonly bases?: readonly string[] | undefined;
  /** The login name of a controller's user in the directory: `{username}` stands for the name here. */
  readonly loginName: string;
  /** Whether to act on a match by email address only. */
  readonly byEmail: boolean;
  /** Whether external users without a match have left, although nothing links them to this directory. */
  readonly unmatched: boolean;
  /** Users who always stay, as names or patterns. */
  readonly except: readonly string[];
  /** Refuses an answer whose number of users fell by more than this share since the last one. */
  readonly stopBelowPercent: number;
  /** Refuses an answer in which more than this share of the external users have left since the last one. */
  readonly stopAbovePercent: number;
}
