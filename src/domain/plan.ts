import type { AccessPath } from './access.ts';
import type { Token } from './token.ts';

/** Number of a plan's tokens (or sessions) with the same owner, application or scope. */
export interface Tally {
  readonly name: string;
  readonly count: number;
}

/** A token that the selector names and the plan skips, and why. */
export interface Kept {
  readonly tokenId: number;
  readonly reason: string;
}

/** What a revocation includes in addition to access tokens. */
export interface Reach {
  /** Their refresh tokens, and those of the selected users and applications without an access token. */
  readonly refreshTokens: boolean;
  /** The unredeemed authorization codes of the selected users or applications. */
  readonly authorizationCodes: boolean;
  /** The sessions of the selected users, or of the selected tokens' owners. */
  readonly sessions: boolean;
}

/** The sessions that a plan ends: all that the users have at that time. */
export interface PlannedSessions {
  /** The users; `all` for every session, including those without a known user. */
  readonly userIds: readonly number[] | 'all';
  /** Number of sessions when it was planned. */
  readonly count: number;
  /** Why unlisted sessions may be accepted; absent if that is impossible. */
  readonly unseen?: AccessPath | undefined;
}

/**
 * What a revocation would do, computed without changing anything. Contains identifiers, never token values,
 * and only a few numbers per token.
 */
export interface RevocationPlan {
  /** The selector in words, for display and for the audit log. */
  readonly selection: string;
  /** Ids of the access tokens to revoke, in working order: ascending, own credential last. */
  readonly tokenIds: readonly number[];
  /** Owners' names: `owners[i]` owns `tokenIds[i]`. */
  readonly owners: readonly string[];
  /** The ids of the owners of these tokens, and of refresh tokens, by their names at planning time. */
  readonly ownerIds: Readonly<Record<string, number>>;
  /** The last of `tokenIds` that may be the caller's own credential: revoked one by one, at the very end. */
  readonly ownTokenIds: readonly number[];
  /** Ids that the selector names but were not found: deleted, invisible, or excluded by other criteria. */
  readonly absentIds: readonly number[];
  /**
   * Why the account does not see the whole selection, as a sentence without a full stop: what is missing is
   * unknown, and the revocation cannot be verified. Null if the account sees all of it.
   */
  readonly notSeen: string | null;
  /** What is included; all false if the target cannot do it or it was not requested. */
  readonly reach: Reach;
  /** Number of live refresh tokens that are revoked with their access tokens; 0 if they are not. */
  readonly refreshTokensBeside: number;
  /** Ids of further live refresh tokens to revoke, without a selected access token, ascending. */
  readonly refreshTokenIds: readonly number[];
  /** Their owners' names: `refreshTokenOwners[i]` owns `refreshTokenIds[i]`. */
  readonly refreshTokenOwners: readonly string[];
  /**
   * Number of these refresh tokens that are expired: the controller refuses them now, and accepts them again
   * if REFRESH_TOKEN_EXPIRE_SECONDS is raised. Null if unknown, or if no refresh tokens are included.
   */
  readonly refreshTokensExpired: number | null;
  /** Ids of the authorization codes to delete, ascending; empty if they are not included. */
  readonly authorizationCodeIds: readonly number[];
  /** The sessions to end; null if sessions are not included. */
  readonly sessions: PlannedSessions | null;
  /** Largest first. */
  readonly byUser: readonly Tally[];
  readonly byApplication: readonly Tally[];
  readonly byScope: readonly Tally[];
  readonly kept: readonly Kept[];
  /** The access paths that it leaves open, or that this target does not show. */
  readonly accessPaths: readonly AccessPath[];
  /** SHA-256 (hex) over the ids, comma separated, and what is included: the same plan has the same digest. */
  readonly digest: string;
  /** The saved plan that it applies; absent for others. */
  readonly saved?: SavedPlanReference;
}

export interface SavedPlanReference {
  /** As in the file. */
  readonly digest: string;
  readonly made: { readonly at: string; readonly by: Readonly<Record<string, string>> };
  /** Number of its tokens and codes, of those that are listed individually. */
  readonly accessTokens: number;
  readonly refreshTokens: number;
  readonly authorizationCodes: number;
  /** The ids of those that the target no longer lists, or does not show to this account. */
  readonly gone: {
    readonly accessTokens: readonly number[];
    readonly refreshTokens: readonly number[];
    readonly authorizationCodes: readonly number[];
  };
}

/** The result for one token: revoked, already deleted, or failed with a reason. */
export interface Outcome {
  readonly tokenId: number;
  /** As in {@link Token.fingerprint}; absent if the target does not show it. */
  readonly fingerprint?: string | undefined;
  /** The refresh token that was revoked with it. */
  readonly refreshToken?: { readonly id: number; readonly fingerprint: string } | undefined;
  readonly result: 'revoked' | 'unchanged' | 'failed';
  /** For `failed`: whether the account lacks the right, so that a retry is pointless. */
  readonly refused?: true;
  /** For `failed`: the target's message. */
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

export function isNothing(amounts: Amounts): boolean {
  return Object.values(amounts).every((amount) => amount === 0);
}
