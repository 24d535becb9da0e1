import { TokenctlError } from '@tokenctl/common/errors.ts';
import { type AccessPath, recordOf } from '../../domain/access.ts';
import { IdSet } from '../../domain/compact-collections.ts';
import type { Kept, Outcome, RevocationPlan, SavedPlanReference } from '../../domain/plan.ts';
import type { Selector } from '../../domain/selector.ts';
import { type OutcomeCounts, OutcomeTally } from '../journal/batches.ts';
import type { OperationRun, RunEnd } from '../journal/operation-run.ts';
import type { EntryDraft } from '../ports/audit-log.ts';
import type { Target } from '../ports/target.ts';
import { partOf } from '../scope/target-parts.ts';
import type { EndedSessions } from '../sessions/expire-sessions.ts';
import { refreshTokenSelector } from './plan-revocation.ts';

/**
 * Results for the refresh tokens of a revocation. Tokens not tried or already gone are counted only for
 * refresh tokens without an access token: the others share the result of their access tokens.
 */
interface RevokedRefreshTokens extends OutcomeCounts {
  /** Revoked tokens that were found live on re-reading, ascending. */
  readonly stillAlive: readonly number[];
  /** Number of planned tokens that were already expired; null if unknown. */
  readonly expired: number | null;
}

/** What a revocation did, and what it left. The top-level counts are for access tokens. */
export interface RevocationReport extends RunEnd, OutcomeCounts {
  /** Tokens that were tried and found on re-reading, ascending. */
  readonly stillAlive: readonly number[];
  /** Including those of access tokens; null if refresh tokens were not revoked. */
  readonly refreshTokens: RevokedRefreshTokens | null;
  /** The deleted authorization codes (as `revoked`); null if they were kept. */
  readonly authorizationCodes: OutcomeCounts | null;
  /** Null if they were kept. */
  readonly sessions: EndedSessions | null;
  /** What the selection covers now and the plan did not; null if this was not checked. */
  readonly madeSince: MadeSince | null;
  /** The verified result, after re-reading. */
  readonly verification: Verification;
  /** Whether `verification` is `checked`: the whole selection was re-read and none of it existed. */
  readonly verified: boolean;
  /** Whether the caller's own credential was revoked, proven by its refusal afterwards. */
  readonly ownAccessEnded: boolean;
  /** The saved plan that was applied; absent for others. */
  readonly plan?: SavedPlanReference | undefined;
  readonly kept: readonly Kept[];
  /** The access paths that it left open or could not check, without those that it covers and closed. */
  readonly accessPaths: readonly AccessPath[];
  readonly seconds: number;
}

/**
 * The verified state of a selection after its revocation: `checked`, none of it is listed; `still_alive`,
 * some of it is; `not_checked`, because the target could not be read or the account does not see the whole
 * selection.
 */
export type Verification =
  | { readonly result: 'checked' }
  | { readonly result: 'still_alive' }
  | {
      readonly result: 'not_checked';
      /**
       * Why it was not checked. `part_seen`: the account does not see the whole selection. `sessions_unseen`:
       * a gateway may accept sessions that are not listed.
       */
      readonly cause: 'interrupted' | 'unreadable' | 'not_tried' | 'sessions_unseen' | 'part_seen';
      /** As a sentence without a full stop. */
      readonly why: string;
    };

/** The maximum number of live tokens that the last entry names, to limit the line length of the log. */
const NAMED_ALIVE = 1000;

/** The data of the intent of a whole revocation. */
export function openingOf(plan: RevocationPlan): EntryDraft['data'] {
  const { reach, sessions } = plan;
  return {
    selection: plan.selection,
    planned: plan.tokenIds.length,
    digest: plan.digest,
    kept: plan.kept.map(({ tokenId }) => tokenId),
    own: plan.ownTokenIds,
    users: plan.byUser.length,
    ...(plan.saved && { plan: { digest: plan.saved.digest, made: plan.saved.made } }),
    ...(reach.refreshTokens && {
      refreshTokens: {
        beside: plan.refreshTokensBeside,
        alone: plan.refreshTokenIds.length,
        ...(plan.refreshTokensExpired !== null && { expired: plan.refreshTokensExpired }),
      },
    }),
    ...(reach.authorizationCodes && { authorizationCodes: plan.authorizationCodeIds.length }),
    ...(sessions !== null && {
      sessions: {
        planned: sessions.count,
        users: sessions.userIds === 'all' ? 'all' : sessions.userIds.length,
      },
    }),
  };
}

/** The data of the outcome of a whole revocation. */
export function closingOf(report: RevocationReport): EntryDraft['data'] {
  const {
    kept: _kept,
    plan: _plan,
    accessPaths,
    run: _run,
    refreshTokens,
    authorizationCodes: codes,
    sessions,
    madeSince,
    failed,
    stillAlive,
    ...counted
  } = report;
  return {
    ...counted,
    failed: failed.length,
    ...aliveOf(stillAlive),
    ...(refreshTokens !== null && {
      refreshTokens: {
        ...refreshTokens,
        failed: refreshTokens.failed.length,
        ...aliveOf(refreshTokens.stillAlive),
      },
    }),
    ...(codes !== null && { authorizationCodes: { ...codes, failed: codes.failed.length } }),
    ...(sessions !== null && { sessions }),
    ...(madeSince !== null && { madeSince }),
    accessPaths: recordOf(accessPaths),
  };
}

function aliveOf(ids: readonly number[]) {
  return { stillAlive: ids.length, ...(ids.length > 0 && { alive: ids.slice(0, NAMED_ALIVE) }) };
}

/** The progress of a revocation: access tokens, and refresh tokens without one of these. */
export interface RevocationProgress {
  /** Tried so far: revoked, unchanged and failed together. */
  readonly done: number;
  readonly total: number;
  readonly revoked: number;
  readonly unchanged: number;
  readonly failed: number;
}

/** Callbacks during a revocation. */
export interface RevocationListeners {
  /** Called every few dozen tokens. */
  readonly onProgress?: (progress: RevocationProgress) => void;
  /** Called with the result of each token; `refresh_token` for those without a planned access token. */
  readonly onOutcome?: (outcome: Outcome, kind: 'access_token' | 'refresh_token') => void;
}

/** Counts the results of a revocation's tokens, by kind. */
export class RevocationTally {
  readonly access: OutcomeTally;
  /** Those without a planned access token; the others are in `access.alongside`. */
  readonly refresh: OutcomeTally;
  readonly codes: OutcomeTally;

  constructor(plan: RevocationPlan, { onProgress, onOutcome }: RevocationListeners = {}) {
    const tell = onProgress === undefined ? {} : { onProgress: () => onProgress(this.#progress()) };
    const each = (kind: 'access_token' | 'refresh_token') =>
      onOutcome === undefined ? {} : { onOutcome: (outcome: Outcome) => onOutcome(outcome, kind) };
    this.access = new OutcomeTally(plan.tokenIds.length, { ...tell, ...each('access_token') });
    this.refresh = new OutcomeTally(plan.refreshTokenIds.length, { ...tell, ...each('refresh_token') });
    this.codes = new OutcomeTally(plan.authorizationCodeIds.length);
  }

  #progress(): RevocationProgress {
    const [access, refresh] = [this.access.counts(), this.refresh.counts()];
    return {
      done: this.access.done + this.refresh.done,
      total: access.planned + refresh.planned,
      revoked: access.revoked + refresh.revoked,
      unchanged: access.unchanged + refresh.unchanged,
      failed: access.failed.length + refresh.failed.length,
    };
  }
}

/** What a selector covers now and the plan did not. */
export interface MadeSince {
  readonly accessTokens: number;
  /** Null if they are not listed or not selected. */
  readonly refreshTokens: number | null;
}

/**
 * Lists the selection again, and counts the tokens that were not in the plan: a client that is active while a
 * plan is confirmed and carried out gets new ones, and a refresh token remains if another user deleted its
 * access token in the meantime.
 * @returns Null if this was not checked: the run ended early, or the tokens were selected by id, which no new
 * token has.
 */
export async function countMadeSince(
  work: OperationRun,
  { plan, selector }: { plan: RevocationPlan; selector: Selector | undefined },
): Promise<MadeSince | null> {
  if (selector === undefined || selector.ids !== undefined || work.shouldStop) return null;
  try {
    return await listAgain(work.target, { plan, selector });
  } catch (error) {
    if (!(error instanceof TokenctlError)) throw error;
    work.stop(error);
    return null;
  }
}

async function listAgain(
  target: Target,
  options: { readonly plan: RevocationPlan; readonly selector: Selector },
): Promise<MadeSince> {
  const { plan, selector } = options;
  const known = setOf(plan.tokenIds);
  for (const { tokenId } of plan.kept) known.add(tokenId);
  let accessTokens = 0;
  for await (const { id } of target.tokens(selector)) if (!known.has(id)) accessTokens += 1;
  const meant = plan.reach.refreshTokens ? refreshTokenSelector(selector) : null;
  if (meant === null) return { accessTokens, refreshTokens: null };
  const alone = setOf(plan.refreshTokenIds);
  let refreshTokens = 0;
  for await (const { id, accessTokenId } of partOf(target, 'refreshTokens').list(meant)) {
    const planned = alone.has(id) || (accessTokenId !== null && known.has(accessTokenId));
    if (!planned) refreshTokens += 1;
  }
  return { accessTokens, refreshTokens };
}

function setOf(ids: readonly number[]): IdSet {
  const set = new IdSet();
  for (const id of ids) set.add(id);
  return set;
}
