import type { Kept, RevocationPlan, StaysAlive } from '../../domain/plan.ts';
import type { FailedToken, OutcomeCounts } from '../journal/batches.ts';
import type { Stopped } from '../journal/operation-run.ts';
import type { EntryDraft } from '../ports/audit-log.ts';
import type { EndedSessions } from '../sessions/end-sessions.ts';
import type { MadeSince } from './made-since.ts';

/**
 * What became of the refresh tokens of a revocation. What is not tried or gone already is counted of those by
 * themselves only: those beside access tokens share the fate of these.
 */
export interface RevokedRefreshTokens extends OutcomeCounts {
  /** Those that were revoked and are alive when reading again, ascending. */
  readonly stillAlive: readonly number[];
}

/** What a revocation did, and what it left. The counts at the top are those of access tokens. */
export interface RevocationReport {
  readonly planned: number;
  readonly revoked: number;
  /** Gone already when their turn came. */
  readonly unchanged: number;
  readonly failed: readonly FailedToken[];
  /** Planned, and not reached because the work ended before. */
  readonly notTried: number;
  /** Tokens that were tried and found when reading again, ascending. */
  readonly stillAlive: readonly number[];
  /** Those beside access tokens and those by themselves together; null where they were left alone. */
  readonly refreshTokens: RevokedRefreshTokens | null;
  /** Null where they were left alone. */
  readonly sessions: EndedSessions | null;
  /** What the selection names by now and the plan did not; null where nobody looked. */
  readonly madeSince: MadeSince | null;
  /** Whether all that was tried was read again and none of it was there. */
  readonly verified: boolean;
  /** Whether the caller's own credential was revoked, shown by its being refused afterwards. */
  readonly ownAccessEnded: boolean;
  readonly kept: readonly Kept[];
  readonly staysAlive: readonly StaysAlive[];
  /** Whether a signal ended the work early. */
  readonly interrupted: boolean;
  /** What ended the work early, where the target did; null otherwise. */
  readonly stopped: Stopped | null;
  /** The run's UUID in the audit log. */
  readonly run: string;
  readonly seconds: number;
}

/** How many of the tokens still alive the last entry names, so that no line of the log grows without bound. */
const NAMED_ALIVE = 1000;

/** What the intent of a whole revocation states. */
export function openingOf(plan: RevocationPlan): EntryDraft['data'] {
  const { reach, sessions } = plan;
  return {
    step: 'operation',
    selection: plan.selection,
    planned: plan.tokenIds.length,
    digest: plan.digest,
    kept: plan.kept.map(({ tokenId }) => tokenId),
    own: plan.ownTokenIds,
    users: plan.byUser.length,
    ...(reach.refreshTokens && {
      refreshTokens: { beside: plan.refreshTokensBeside, alone: plan.refreshTokenIds.length },
    }),
    ...(sessions !== null && {
      sessions: {
        planned: sessions.count,
        users: sessions.userIds === 'all' ? 'all' : sessions.userIds.length,
      },
    }),
  };
}

/** What the outcome of a whole revocation states. */
export function closingOf(report: RevocationReport): EntryDraft['data'] {
  const {
    kept: _kept,
    staysAlive,
    run: _run,
    refreshTokens,
    sessions,
    madeSince,
    failed,
    stillAlive,
    ...counted
  } = report;
  return {
    step: 'operation',
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
    ...(sessions !== null && { sessions }),
    ...(madeSince !== null && { madeSince }),
    staysAlive: staysAlive.map(({ what, count }) => ({ what, count })),
  };
}

function aliveOf(ids: readonly number[]) {
  return { stillAlive: ids.length, ...(ids.length > 0 && { alive: ids.slice(0, NAMED_ALIVE) }) };
}
