/** How many tokens of a plan share something: an owner, an application, a scope. */
export interface Tally {
  readonly name: string;
  readonly tokens: number;
}

/** A token that the selector names and the plan leaves out, and why. */
export interface Kept {
  readonly tokenId: number;
  readonly reason: string;
}

/** Something that lives on after the operation, why, and what to do about it. */
export interface StaysAlive {
  readonly what: 'refresh_tokens' | 'sessions' | 'basic_authentication' | 'own_token';
  /** How many, where the target can tell; null where it cannot. */
  readonly count: number | null;
  readonly why: string;
  /** What to do about it: a command, or where to do it by hand. */
  readonly remedy: string;
}

/**
 * What a revocation would do, computed without changing anything. Holds identifiers, never tokens'
 * values, and no more than a few numbers for each token.
 */
export interface RevocationPlan {
  /** The selector in words, for people and for the audit log. */
  readonly selection: string;
  /** Ids of the access tokens to revoke, in the order of the work: ascending, own credential last. */
  readonly tokenIds: readonly number[];
  /** Owners' names by token id position: `ownerOf[i]` owns `tokenIds[i]`. */
  readonly owners: readonly string[];
  /** The last of `tokenIds` that may be the caller's own credential: revoked singly, at the very end. */
  readonly ownTokenIds: readonly number[];
  /**
   * Ids that the selector names and the target did not find: gone already, not the caller's to see, or
   * outside of the selector's other criteria.
   */
  readonly absentIds: readonly number[];
  /** Largest first. */
  readonly byUser: readonly Tally[];
  readonly byApplication: readonly Tally[];
  readonly byScope: readonly Tally[];
  readonly kept: readonly Kept[];
  readonly staysAlive: readonly StaysAlive[];
  /** SHA-256 (hex) over the ids, comma separated: the same plan has the same digest. */
  readonly digest: string;
}

/** What became of one token: revoked now, gone already, or failed with the reason. */
export interface Outcome {
  readonly tokenId: number;
  readonly result: 'revoked' | 'unchanged' | 'failed';
  /** For `failed`: whether the account may not do it, so that trying again is of no use. */
  readonly refused?: true;
  /** For `failed`: what the target said, in words. */
  readonly reason?: string;
}
