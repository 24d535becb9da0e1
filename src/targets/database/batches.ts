import { setTimeout as sleep } from 'node:timers/promises';
import type { Queryable } from '@tokenctl/common/db/database.ts';
import type { RightsPurpose } from '../../operations/ports/target.ts';
import { answerOf, type Connection, isTransient, LOCKED_REASON, retryFailureReason } from './connection.ts';
import { inBatches } from './queries.ts';

interface BatchWork<Item, Done> {
  readonly connection: Connection;
  readonly purpose: RightsPurpose;
  readonly items: readonly Item[];
  /** The number of rows per transaction. */
  readonly batchSize: number;
  /** How long to retry rows that other transactions lock, in milliseconds. */
  readonly lockRetryMs: number;
  /** Processes a batch in one transaction, and returns the result for each row. */
  readonly process: (database: Queryable, items: readonly Item[]) => Promise<ReadonlyMap<Item, Done>>;
  /** The unprocessed rows that exist, and so are locked. */
  readonly findRemaining: (database: Queryable, items: readonly Item[]) => Promise<readonly Item[]>;
  /** Once aborted, the batch in flight is awaited for half a second. */
  readonly signal?: AbortSignal | undefined;
  /** What to yield for a row that does not exist. */
  readonly missing?: (item: Item) => Done;
}

interface Unprocessed<Item> {
  readonly item: Item;
  readonly reason: string;
}

interface BatchResult<Item> {
  /** Rows that stayed locked. */
  readonly unprocessed: readonly Unprocessed<Item>[];
  /** The error that ended the work early, and the rows in flight at that time. */
  readonly failure: { readonly error: unknown; readonly inFlight: readonly Item[] } | null;
}

const FIRST_PAUSE_MS = 50;
const MAX_PAUSE_MS = 1500;

/**
 * Processes rows in short transactions. Rows that other transactions lock are skipped and retried at the end,
 * with growing pauses and ever smaller batches, so that one bad row does not hold up others. When the time
 * for retries has passed, they are returned as unprocessed.
 * @returns The unprocessed rows, after yielding the results batch by batch. It throws nothing: everything
 * yielded before a failure is done.
 */
export async function* processInBatches<Item, Done>(
  work: BatchWork<Item, Done>,
): AsyncGenerator<readonly Done[], BatchResult<Item>> {
  let unprocessed: readonly Unprocessed<Item>[] = [...new Set(work.items)].map(locked);
  let { batchSize } = work;
  let pauseMs = FIRST_PAUSE_MS;
  let deadline: number | null = null;
  for (;;) {
    const skipped: Unprocessed<Item>[] = [];
    for (const batch of inBatches(unprocessed, batchSize)) {
      if (deadline !== null && performance.now() >= deadline) {
        skipped.push(...batch);
        continue;
      }
      const result = yield* processBatch(
        work,
        batch.map(({ item }) => item),
      );
      if (result.failure !== null) return result;
      skipped.push(...result.unprocessed);
    }
    unprocessed = skipped;
    deadline ??= performance.now() + work.lockRetryMs;
    const remainingMs = deadline - performance.now();
    if (unprocessed.length === 0 || remainingMs <= 0) return { unprocessed, failure: null };
    await sleep(Math.min(pauseMs, remainingMs));
    batchSize = Math.ceil(Math.min(batchSize, unprocessed.length) / 4);
    pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS);
  }
}

async function* processBatch<Item, Done>(work: BatchWork<Item, Done>, items: readonly Item[]) {
  const { connection, purpose, missing, signal } = work;
  let inFlight = items;
  try {
    const done = await answerOf(work.process(connection.database, items), signal);
    inFlight = items.filter((item) => !done.has(item));
    yield [...done.values()];
    const remaining = new Set(
      inFlight.length === 0 ? [] : await work.findRemaining(connection.database, inFlight),
    );
    if (missing !== undefined) yield inFlight.filter((item) => !remaining.has(item)).map(missing);
    return { unprocessed: [...remaining].map(locked), failure: null };
  } catch (error) {
    if (isTransient(error)) {
      const reason = retryFailureReason(error);
      return { unprocessed: inFlight.map((item) => ({ item, reason })), failure: null };
    }
    return { unprocessed: [], failure: { error: await connection.explain(purpose, error), inFlight } };
  }
}

/** Yields the results of batches one by one. Returns the unprocessed rows. */
export async function* eachOf<Item, Done>(
  batches: AsyncGenerator<readonly Done[], BatchResult<Item>>,
): AsyncGenerator<Done, BatchResult<Item>> {
  for (;;) {
    const { done, value } = await batches.next();
    if (done === true) return value;
    for (const each of value) yield each;
  }
}

function locked<Item>(item: Item): Unprocessed<Item> {
  return { item, reason: LOCKED_REASON };
}
