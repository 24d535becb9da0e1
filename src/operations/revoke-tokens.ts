import type { TokenctlError, TokenctlErrorCode } from '../core/errors.ts';
import type { Kept, RevocationPlan, StaysAlive } from '../core/plan.ts';
import type { AuditLog, EntryDraft } from './audit-log-port.ts';
import { Journal } from './journal.ts';
import type { Clock, Target, TargetDescription } from './ports.ts';
import { reconcile } from './reconcile.ts';
import { batchesOf, runBatches } from './revocation-batches.ts';
import { type FailedToken, type RevocationProgress, RevocationTally } from './revocation-tally.ts';
import { together, verifyOthers, verifyOwn } from './verify-revocation.ts';

/** What a revocation did, and what it left. */
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
  /** Whether the tokens tried were read again and none was there. */
  readonly verified: boolean;
  /** Whether the caller's own credential was revoked, shown by its being refused afterwards. */
  readonly ownAccessEnded: boolean;
  readonly kept: readonly Kept[];
  readonly staysAlive: readonly StaysAlive[];
  /** Whether a signal ended the work early. */
  readonly interrupted: boolean;
  /** What ended the work early, where the target did; null otherwise. */
  readonly stopped: {
    readonly code: TokenctlErrorCode;
    readonly message: string;
    readonly hint?: string;
  } | null;
  /** The run's UUID in the audit log. */
  readonly run: string;
  readonly seconds: number;
}

/** What to revoke, and who says so. */
export interface RevokeTokensOptions {
  readonly target: Target;
  readonly description: TargetDescription;
  readonly plan: RevocationPlan;
  readonly log: AuditLog;
  readonly clock: Clock;
  readonly actor: Readonly<Record<string, string>>;
  readonly reason?: string;
  readonly ticket?: string;
  /** When aborted, the batches in flight are finished and recorded, and no further one is begun. */
  readonly signal?: AbortSignal;
  /** Tokens per batch, each batch being one intent and one outcome in the log. */
  readonly batchSize?: number;
  /** Called every few dozen tokens. */
  readonly onProgress?: (progress: RevocationProgress) => void;
}

const BATCH_SIZE = 250;

/** One batch waits for the disk while others act; more would only make an interruption slower. */
const AT_ONCE = 3;

/** How many of the tokens still alive the last entry names, so that no line of the log grows without bound. */
const NAMED_ALIVE = 1000;

/**
 * Carries out a revocation plan: closes what killed runs left open, records the intent, revokes in
 * batches of which several are under way, each recorded before and after, reads again what was tried,
 * and revokes the caller's own credential last and singly. Running it again finishes the work.
 *
 * @throws TokenctlError `audit_unavailable` before anything was done; `outcome_unrecorded` after
 * something was; what the target throws where not one token could be tried. A target that fails
 * half-way is reported in `stopped` instead.
 */
export async function revokeTokens(options: RevokeTokensOptions): Promise<RevocationReport> {
  const { target, plan, clock, signal } = options;
  const started = clock.now().getTime();
  const journal = new Journal({ ...options, operation: 'tokens.revoke' });
  await reconcile(options);
  using _held = await journal.hold();
  const tally = new RevocationTally(plan.tokenIds.length, options.onProgress);
  const intent = await journal.opening(opening(plan));
  const work = { target, journal, tally, ...(signal === undefined ? {} : { signal }) };
  const others = plan.tokenIds.length - plan.ownTokenIds.length;
  const batches = batchesOf(plan, { from: 0, to: others, size: options.batchSize ?? BATCH_SIZE });
  await runBatches({ ...work, batches, atOnce: AT_ONCE });
  let read = await verifyOthers(target, tally);
  const own = batchesOf(plan, { from: others, to: plan.tokenIds.length, size: 1 });
  for (const batch of own) {
    const triedBefore = tally.done;
    await runBatches({ ...work, batches: [batch], atOnce: 1 });
    read = together(read, await verifyOwn(target, tally, tally.tried.slice(triedBefore)));
  }
  const { alive, ownAccessEnded } = read;
  const report: RevocationReport = {
    ...tally.counts(),
    stillAlive: alive ?? [],
    verified: alive?.length === 0,
    ownAccessEnded,
    kept: plan.kept,
    staysAlive: plan.staysAlive,
    interrupted: signal?.aborted === true && tally.notTried > 0,
    stopped: tally.stopped === null ? null : told(tally.stopped),
    run: journal.run,
    seconds: (clock.now().getTime() - started) / 1000,
  };
  await journal.outcome(intent, closing(report));
  if (tally.stopped !== null && tally.done === 0) throw tally.stopped;
  return report;
}

function opening(plan: RevocationPlan): EntryDraft['data'] {
  return {
    step: 'operation',
    selection: plan.selection,
    planned: plan.tokenIds.length,
    digest: plan.digest,
    kept: plan.kept.map(({ tokenId }) => tokenId),
    own: plan.ownTokenIds,
    users: plan.byUser.length,
  };
}

function closing(report: RevocationReport): EntryDraft['data'] {
  const { kept: _kept, staysAlive, run: _run, failed, stillAlive: alive, ...counted } = report;
  return {
    step: 'operation',
    ...counted,
    failed: failed.length,
    stillAlive: alive.length,
    ...(alive.length === 0 ? {} : { alive: alive.slice(0, NAMED_ALIVE) }),
    staysAlive: staysAlive.map(({ what, count }) => ({ what, count })),
  };
}

function told({ code, message, hint }: TokenctlError): RevocationReport['stopped'] {
  return { code, message, ...(hint === undefined ? {} : { hint }) };
}
