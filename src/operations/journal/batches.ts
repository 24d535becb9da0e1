import { TokenctlError } from '../../domain/errors.ts';
import type { Outcome } from '../../domain/plan.ts';
import { BatchOutcome, type BatchStep, batchIntent } from './batch-entries.ts';
import type { OutcomeTally } from './outcome-tally.ts';
import type { Work } from './work.ts';

/** Tokens that share one intent and one outcome in the audit log. */
export interface Batch {
  readonly ids: readonly number[];
  /** The owner of `ids[i]`; absent where owners are not told. */
  readonly owners?: readonly string[];
}

/** Cuts a stretch of ids into batches, each when its turn comes. */
export function* batchesOf(
  all: Batch,
  stretch: { readonly from: number; readonly to: number; readonly size: number },
): Generator<Batch, undefined> {
  for (let start = stretch.from; start < stretch.to; start += stretch.size) {
    const end = Math.min(start + stretch.size, stretch.to);
    const owners = all.owners?.slice(start, end);
    yield { ids: all.ids.slice(start, end), ...(owners !== undefined && { owners }) };
  }
}

/** What is done to batches, and how. */
export interface BatchRun {
  readonly batches: Iterable<Batch>;
  /** How many are under way together: one waits for the disk while another acts. */
  readonly atOnce: number;
  /** What the log calls it. */
  readonly step: BatchStep;
  readonly act: (ids: readonly number[]) => AsyncIterable<Outcome>;
  readonly tally: OutcomeTally;
}

/**
 * Does batch after batch, several at a time, until all are done, the signal says stop, or the target says
 * that no further token can be tried (then in `work.stopped`).
 *
 * @throws TokenctlError `audit_unavailable` where the log fails before anything was tried, and
 * `outcome_unrecorded` where it fails later; either after the batches under way have ended.
 */
export async function runBatches(work: Work, run: BatchRun): Promise<void> {
  const waiting = run.batches[Symbol.iterator]();
  let failure: { readonly error: unknown } | null = null;
  const worker = async () => {
    while (failure === null && !work.over) {
      const next = waiting.next();
      if (next.done === true) return;
      try {
        await runBatch(next.value, { work, ...run });
      } catch (error) {
        failure ??= { error };
      }
    }
  };
  await work.part(
    async () => {
      await Promise.all(Array.from({ length: run.atOnce }, worker));
      if (failure !== null) throw failure.error;
    },
    () => {
      const { failed, ...counts } = run.tally.counts();
      return { ...counts, failed: failed.length };
    },
  );
}

async function runBatch(batch: Batch, run: BatchRun & { readonly work: Work }): Promise<void> {
  const { work, step, tally } = run;
  const intent = await work.journal.intent(batchIntent(step, batch));
  const outcome = new BatchOutcome(step, batch);
  let bug: { readonly error: unknown } | null = null;
  try {
    for await (const each of run.act(batch.ids)) {
      work.acted = true;
      outcome.add(each);
      tally.add(each);
    }
  } catch (error) {
    if (error instanceof TokenctlError) work.stop(error);
    else bug = { error };
  }
  await work.journal.outcome(intent, outcome.data());
  if (bug !== null) throw bug.error;
}
