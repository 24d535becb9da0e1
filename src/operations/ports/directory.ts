import type { DirectoryUser, DirectoryUsers, Identifier } from '../../domain/directory-users.ts';

/** A source that says who is there and who is disabled: an LDAP directory, or the API of an identity provider. */
export interface Directory {
  /** What the configuration calls it. */
  readonly name: string;
  /**
   * Reads all users, each once. An account that expired before `now`, by the clock of the controller, is
   * disabled. Throws for an answer that is not complete, as well as for one that cannot be had.
   */
  read(options: { readonly now: Date; readonly signal?: AbortSignal | undefined }): Promise<DirectoryUsers>;
  /**
   * Asks for users one by one, whatever {@link read} listed: a list may end early and look whole.
   * @returns An answer to each question, in their order. What goes wrong with one is its answer.
   * @throws TokenctlError if nothing can be asked.
   */
  lookUp(
    asked: readonly Identifier[],
    options: { readonly now: Date; readonly signal?: AbortSignal | undefined },
  ): Promise<readonly DirectAnswer[]>;
  /** Which users of the controller it speaks for. */
  readonly rules: MatchRules;
}

/** The users whom a directory has by an identifier; or why it did not say so, as a clause. */
export type DirectAnswer = { readonly found: readonly DirectoryUser[] } | { readonly why: string };

/** How users of the controller are matched to users of a directory. */
export interface MatchRules {
  /**
   * The backends of the controller whose accounts are of this directory: users with such an account who are not in the
   * directory are gone. Where there is none, a user who is missing is listed only.
   */
  readonly accounts: readonly string[];
  /**
   * Normalized names of the entries of an LDAP directory below which its users are; absent elsewhere. A user with another LDAP name,
   * or without one and without an account of `accounts`, is of another directory.
   */
  readonly bases?: readonly string[] | undefined;
  /** The login name there of a user of the controller: `{username}` stands for the name here. */
  readonly loginName: string;
  /** Whether a match by email address only is acted on. */
  readonly byEmail: boolean;
  /** Whether external users who match no one are gone, although nothing ties them to this directory. */
  readonly unmatched: boolean;
  /** Users who always stay, each a name or a pattern. */
  readonly except: readonly string[];
  /** Refuses an answer that has fewer users than the last one by more than this share. */
  readonly stopBelowPercent: number;
  /** Refuses an answer by which more than this share of the external users have left since the last answer. */
  readonly stopAbovePercent: number;
}
