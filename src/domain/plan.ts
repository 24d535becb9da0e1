import type { AccessPath } from './access.ts';
import type { Token } from './token.ts';

/** How many tokens (or sessions) of a plan share something: an owner, an application, a scope. */
export interface Tally {
  readonly name: string;
  readonly count: number;
}

/** A token that the selector names and the plan leaves out, and why. */
export interface Kept {
  readonly tokenId: number;
  readonly reason: string;
}

/** What a revocation includes in addition to access tokens. */
export interface Reach {
  /** Their refresh tokens, and those of the selected users and applications without an access token. */
  readonly refreshTokens: boolean;
  /** The authorization codes of the selected users or applications that are not redeemed yet. */
  readonly authorizationCodes: boolean;
  /** The sessions of the selected users, or of the selected tokens' owners. */
  readonly sessions: boolean;
}

/** The sessions that a plan ends: all that the users have when their turn comes. */
export interface PlannedSessions {
  /** Whose; `all` for every session there is, those without a known user included. */
  readonly userIds: readonly number[] | 'all';
  /** How many there were when it was planned. */
  readonly count: number;
  /** Why others may be accepted that are not listed; absent if that is ruled out. */
  readonly unseen?: AccessPath | undefined;
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
  /** Owners' names: `owners[i]` owns `tokenIds[i]`. */
  readonly owners: readonly string[];
  /** The ids of the owners of these tokens, and of refresh tokens, by their names when it was planned. */
  readonly ownerIds: Readonly<Record<string, number>>;
  /** The last of `tokenIds` that may be the caller's own credential: revoked singly, at the very end. */
  readonly ownTokenIds: readonly number[];
  /**
   * Ids that the selector names and the target did not find: already deleted, not visible to the
   * caller, or excluded by other criteria.
   */
  readonly absentIds: readonly number[];
  /**
   * Why the account does not see the whole selection, as a sentence without a full stop: what it leaves out
   * is not known, and the revocation cannot be verified. Null if the account sees all of it.
   */
  readonly notSeen: string | null;
  /** What is included; all false if the target cannot do it or it was not requested. */
  readonly reach: Reach;
  /** How many live refresh tokens are beside the access tokens and go with them; 0 where they do not. */
  readonly refreshTokensBeside: number;
  /** Ids of live refresh tokens without a selected access token that are meant as well, ascending. */
  readonly refreshTokenIds: readonly number[];
  /** Their owners' names: `refreshTokenOwners[i]` owns `refreshTokenIds[i]`. */
  readonly refreshTokenOwners: readonly string[];
  /**
   * How many of these refresh tokens are expired: the controller refuses them now, and accepts them again if
   * REFRESH_TOKEN_EXPIRE_SECONDS is raised. Null if that is not known, or no refresh tokens are included.
   */
  readonly refreshTokensExpired: number | null;
  /** Ids of the authorization codes that are deleted, ascending; none where they are not included. */
  readonly authorizationCodeIds: readonly number[];
  /** The sessions that end; null if sessions are not included. */
  readonly sessions: PlannedSessions | null;
  /** Largest first. */
  readonly byUser: readonly Tally[];
  readonly byApplication: readonly Tally[];
  readonly byScope: readonly Tally[];
  readonly kept: readonly Kept[];
  /** The ways in that it leaves open, or that this target does not show. */
  readonly accessPaths: readonly AccessPath[];
  /**
   * SHA-256 (hex) over the ids, comma separated, and over what goes along where something does: the same
   * plan has the same digest.
   */
  readonly digest: string;
  /** The saved plan that it applies; absent for others. */
  readonly saved?: SavedPlanReference;
}

/** The saved plan that a plan applies. */
export interface SavedPlanReference {
  /** As in the file. */
  readonly digest: string;
  readonly made: { readonly at: string; readonly by: Readonly<Record<string, string>> };
  /** How many tokens and codes it has, of those that are listed singly. */
  readonly accessTokens: number;
  readonly refreshTokens: number;
  readonly authorizationCodes: number;
  /** The ids of those that the target does not list any more, or does not show to this account. */
  readonly gone: {
    readonly accessTokens: readonly number[];
    readonly refreshTokens: readonly number[];
    readonly authorizationCodes: readonly number[];
  };
}

/** The result for one token: revoked, already deleted, or failed with a reason. */
export interface Outcome {
  readonly tokenId: number;
  /** As of {@link Token.fingerprint}; absent where the target does not tell. */
  readonly fingerprint?: string | undefined;
  /** The refresh token that was revoked with it. */
  readonly refreshToken?: { readonly id: number; readonly fingerprint: string } | undefined;
  readonly result: 'revoked' | 'unchanged' | 'failed';
  /** For `failed`: whether the account may not do it, so that trying again is of no use. */
  readonly refused?: true;
  /** For `failed`: what the target said, in words. */
  readonly reason?: string;
}

export interface Amounts {
  readonly accessTokens: number;
  readonly refreshTokens: number;
  readonly authorizationCodes: number;
  readonly sessions: number;
}

/** The amounts of a plan. Its refresh tokens include orphaned ones. */
export function amountsOf(plan: RevocationPlan): Amounts {
  return {
    accessTokens: plan.tokenIds.length,
    refreshTokens: plan.refreshTokensBeside + plan.refreshTokenIds.length,
    authorizationCodes: plan.authorizationCodeIds.length,
    sessions: plan.sessions?.count ?? 0,
  };
}

/** Whether all amounts are 0. */
export function isNothing(amounts: Amounts): boolean {
  return Object.values(amounts).every((amount) => amount === 0);
}
