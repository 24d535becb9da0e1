import type { RevocationPlan } from '../../domain/plan.ts';
import type { Selector } from '../../domain/selector.ts';
import { batchesOf, runBatches } from '../journal/batches.ts';
import { Journal } from '../journal/journal.ts';
import { type Change, Work } from '../journal/operation-run.ts';
import { reconcile } from '../journal/reconcile.ts';
import { type EndedSessions, endSessions, verifySessions } from '../sessions/end-sessions.ts';
import { countMadeSince } from './made-since.ts';
import {
  closingOf,
  openingOf,
  type RevocationReport,
  type RevokedRefreshTokens,
} from './revocation-report.ts';
import { type RevocationListeners, RevocationTally } from './revocation-tally.ts';
import { markOf, together, type Verification, verifyOthers, verifyOwn } from './verify-revocation.ts';

/** What to revoke, and who says so. */
export interface RevokeTokensOptions extends Change, RevocationListeners {
  readonly plan: RevocationPlan;
  /** What the plan was made of, to look afterwards for what was made since; nobody looks where absent. */
  readonly selector?: Selector;
  /** Tokens per batch, each batch being one intent and one outcome in the log; what the target asks for by default. */
  readonly batchSize?: number;
}

/** One batch waits for the disk while others act; more would only make an interruption slower. */
const AT_ONCE = 3;

/**
 * Carries out a revocation plan: closes what killed runs left open, records the intent, revokes in
 * batches of which several are under way, each recorded before and after: refresh tokens by themselves
 * first, then access tokens with the refresh tokens beside them, then ends sessions. Reads again what was
 * tried, revokes the caller's own credential last and singly, and counts what was made since the plan. Running
 * it again finishes the work.
 *
 * @throws TokenctlError `audit_unavailable` before anything was done; `outcome_unrecorded` after
 * something was; what the target throws where nothing could be tried. A target that fails half-way is
 * reported in `stopped` instead.
 */
export async function revokeTokens(options: RevokeTokensOptions): Promise<RevocationReport> {
  const { target, plan, clock, signal } = options;
  const size = options.batchSize ?? options.description.capabilities.batchSize;
  const started = clock.now();
  const journal = new Journal({ ...options, operation: 'tokens.revoke' });
  await reconcile(options);
  using _held = await journal.hold();
  const work = new Work({ target, journal, signal });
  const tally = new RevocationTally(plan, options);
  const intent = await journal.opening(openingOf(plan));

  await revokeAlone(work, { plan, tally, size });
  const own = plan.tokenIds.length - plan.ownTokenIds.length;
  await revokeStretch(work, { plan, tally, from: 0, to: own, size });
  const ending = plan.sessions === null ? null : await endSessions(work, plan.sessions);
  let read = await verifyOthers(work, tally);
  const sessions = plan.sessions && {
    planned: plan.sessions.count,
    ended: ending?.ended ?? 0,
    ...(await verifySessions(work, plan.sessions, started)),
  };
  for (let index = own; index < plan.tokenIds.length; index += 1) {
    const since = markOf(tally);
    await revokeStretch(work, { plan, tally, from: index, to: index + 1, size: 1 });
    read = together(read, await verifyOwn(work, tally, since));
  }

  const madeSince = await countMadeSince(work, { plan, selector: options.selector });
  const unfinished = tally.access.notTried + tally.refresh.notTried > 0 || ending?.complete === false;
  const report: RevocationReport = {
    ...tally.access.counts(),
    stillAlive: read.alive ?? [],
    refreshTokens: plan.reach.refreshTokens ? refreshTokensOf(plan, tally, read) : null,
    sessions,
    madeSince,
    verified: isVerified(read, sessions),
    ownAccessEnded: read.ownAccessEnded,
    kept: plan.kept,
    staysAlive: plan.staysAlive,
    interrupted: work.interrupted && unfinished,
    stopped: work.told,
    run: journal.run,
    seconds: (clock.now().getTime() - started.getTime()) / 1000,
  };
  await journal.outcome(intent, closingOf(report));
  if (work.stopped !== null && !work.acted) throw work.stopped;
  return report;
}

/** Revokes the refresh tokens that are planned by themselves. */
async function revokeAlone(
  work: Work,
  options: { readonly plan: RevocationPlan; readonly tally: RevocationTally; readonly size: number },
): Promise<void> {
  const { plan, tally, size } = options;
  const { refreshTokenIds: ids, refreshTokenOwners: owners } = plan;
  await runBatches(work, {
    batches: batchesOf({ ids, owners }, { from: 0, to: ids.length, size }),
    atOnce: AT_ONCE,
    step: 'refresh_tokens',
    act: (batch) => work.target.revokeRefreshTokens(batch),
    tally: tally.refresh,
  });
}

/** Revokes a stretch of the plan's access tokens. */
async function revokeStretch(
  work: Work,
  options: {
    readonly plan: RevocationPlan;
    readonly tally: RevocationTally;
    readonly from: number;
    readonly to: number;
    readonly size: number;
  },
): Promise<void> {
  const { plan, tally, ...stretch } = options;
  const withRefreshTokens = plan.reach.refreshTokens;
  await runBatches(work, {
    batches: batchesOf({ ids: plan.tokenIds, owners: plan.owners }, stretch),
    atOnce: AT_ONCE,
    step: 'batch',
    act: (batch) => work.target.revoke(batch, { withRefreshTokens }),
    tally: tally.access,
  });
}

function refreshTokensOf(
  plan: RevocationPlan,
  { access, refresh }: RevocationTally,
  read: Verification,
): RevokedRefreshTokens {
  const alone = refresh.counts();
  return {
    ...alone,
    planned: plan.refreshTokensBeside + alone.planned,
    revoked: access.alongside.length + alone.revoked,
    stillAlive: read.refreshAlive ?? [],
  };
}

function isVerified(read: Verification, sessions: EndedSessions | null): boolean {
  return (
    read.alive?.length === 0 &&
    read.refreshAlive?.length === 0 &&
    (sessions === null || sessions.stillAlive === 0)
  );
}
