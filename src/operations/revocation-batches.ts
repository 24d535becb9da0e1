import { TokenctlError } from '../core/errors.ts';
import type { Outcome, RevocationPlan } from '../core/plan.ts';
import type { EntryDraft } from './audit-log-port.ts';
import { type Journal, outcomeUnrecorded } from './journal.ts';
import type { Target } from './ports.ts';
import type { RevocationTally } from './revocation-tally.ts';

/** Tokens that share one intent and one outcome in the audit log. */
export interface Batch {
  readonly ids: readonly number[];
  /** The owner of `ids[i]`. */
  readonly owners: readonly string[];
}

/** Cuts a stretch of a plan into batches. */
export function batchesOf(
  plan: RevocationPlan,
  stretch: { readonly from: number; readonly to: number; readonly size: number },
): Batch[] {
  const batches: Batch[] = [];
  for (let start = stretch.from; start < stretch.to; start += stretch.size) {
    const end = Math.min(start + stretch.size, stretch.to);
    batches.push({ ids: plan.tokenIds.slice(start, end), owners: plan.owners.slice(start, end) });
  }
  return batches;
}

/** What batches are run with. */
export interface BatchRun {
  readonly batches: readonly Batch[];
  /** How many are under way together: one waits for the disk while another acts. */
  readonly atOnce: number;
  readonly target: Target;
  readonly journal: Journal;
  readonly tally: RevocationTally;
  readonly signal?: AbortSignal;
}

/**
 * Revokes batch after batch, several at a time, until all are done, the signal says stop, or the target
 * says that no further token can be tried (then in the tally).
 *
 * @throws TokenctlError `audit_unavailable` where the log fails before anything was tried, and
 * `outcome_unrecorded` where it fails later; either after the batches under way have ended.
 */
export async function runBatches(run: BatchRun): Promise<void> {
  const waiting = run.batches.values();
  let failure: { readonly error: unknown } | null = null;
  const work = async () => {
    for (const batch of waiting) {
      if (failure !== null || run.tally.stopped !== null || run.signal?.aborted === true) return;
      try {
        await runBatch(batch, run);
      } catch (error) {
        failure ??= { error };
        return;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(run.atOnce, run.batches.length) }, work));
  throwFailure(failure, run);
}

/** A log that fails once tokens were revoked leaves the operation itself without an outcome. */
function throwFailure(failure: { readonly error: unknown } | null, { tally, journal }: BatchRun): void {
  if (failure === null) return;
  const { error } = failure;
  const afterActing = error instanceof TokenctlError && error.code === 'audit_unavailable' && tally.done > 0;
  if (!afterActing) throw error;
  const { failed, ...counts } = tally.counts();
  throw outcomeUnrecorded(error, { run: journal.run, ...counts, failed: failed.length });
}

async function runBatch(batch: Batch, { target, journal, tally }: BatchRun): Promise<void> {
  const intent = await journal.intent({ step: 'batch', tokens: byOwner(batch) });
  const outcomes: Outcome[] = [];
  let bug: { readonly error: unknown } | null = null;
  try {
    for await (const outcome of target.revoke(batch.ids)) {
      outcomes.push(outcome);
      tally.add(outcome);
    }
  } catch (error) {
    if (error instanceof TokenctlError) tally.stop(error);
    else bug = { error };
  }
  await journal.outcome(intent, { step: 'batch', ...sorted(batch, outcomes) });
  if (bug !== null) throw bug.error;
}

/** `[{ user, ids }]`, in the order in which the owners appear. */
function byOwner({ ids, owners }: Batch): { user: string; ids: number[] }[] {
  const groups = new Map<string, number[]>();
  ids.forEach((id, index) => {
    const user = owners[index] ?? '';
    const group = groups.get(user);
    if (group === undefined) groups.set(user, [id]);
    else group.push(id);
  });
  return Array.from(groups, ([user, group]) => ({ user, ids: group }));
}

function sorted(batch: Batch, outcomes: readonly Outcome[]): EntryDraft['data'] {
  const idsOf = (result: Outcome['result']) =>
    outcomes.filter((outcome) => outcome.result === result).map(({ tokenId }) => tokenId);
  const tried = new Set(outcomes.map(({ tokenId }) => tokenId));
  return {
    revoked: idsOf('revoked'),
    unchanged: idsOf('unchanged'),
    failed: outcomes
      .filter(({ result }) => result === 'failed')
      .map(({ tokenId, reason }) => ({ id: tokenId, reason: reason ?? '' })),
    notTried: batch.ids.filter((id) => !tried.has(id)),
  };
}
