import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { LogVerification } from '../operations/ports/audit-log.ts';
import { type CheckedStretch, type Shared, verifyStretches } from './verify-stretches.ts';

/** How much of a log is worth a thread of its own, in bytes. */
const WORTH_A_THREAD = 32 * 1024 * 1024;

/** So many stretches for each thread that is worth it: who is slower, or starts later, takes fewer of them. */
const STRETCHES = 4;

/** More threads wait for the memory, not for each other. */
const MOST_THREADS = 8;

/** A large log file. */
export interface LargeFile {
  readonly path: string;
  readonly size: number;
  /** Bytes worth a thread; 32 MiB where not given. */
  readonly worthAThread?: number;
}

/**
 * Verifies a log that is one large file, with several processors at once.
 *
 * @returns Null where the file is too small for that, or where anything is wrong with it: what, and where,
 * is found by reading from its beginning.
 */
export async function verifyParallel({
  path,
  size,
  worthAThread = WORTH_A_THREAD,
}: LargeFile): Promise<LogVerification | null> {
  const worth = Math.floor(size / worthAThread);
  const threads = Math.min(availableParallelism(), MOST_THREADS, worth);
  if (threads < 2) return null;
  const count = worth * STRETCHES;
  const offsets = Array.from({ length: count + 1 }, (_, index) => Math.floor((size * index) / count));
  const shared: Shared = { path, offsets, next: new Int32Array(new SharedArrayBuffer(4)) };
  const others = Array.from({ length: threads - 1 }, () => inThread(shared));
  const checked = await Promise.all([verifyStretches(shared), ...others]);
  const stretches = checked.flat().filter((each) => each !== null);
  return stretches.length === count ? joined(stretches) : null;
}

/** One result for neighbouring stretches: each begins with the line that the one before ended with. */
function joined(stretches: readonly CheckedStretch[]): LogVerification | null {
  let before: CheckedStretch | null = null;
  for (const stretch of stretches.toSorted((one, other) => one.index - other.index)) {
    if (before !== null && stretch.first?.hash !== before.last.hash) return null;
    before = stretch;
  }
  if (before === null) return null;
  const { last, tornBytes } = before;
  return { entries: last.size, head: last, break: null, tornBytes };
}

/** What cannot be had from a thread is had by reading in one go. */
async function inThread(shared: Shared): Promise<CheckedStretch[] | null> {
  const program = new URL(`./verify-worker${extname(import.meta.url)}`, import.meta.url);
  const worker = new Worker(program, { workerData: shared });
  const answer = once(worker, 'message') as Promise<[CheckedStretch[] | null]>;
  return await answer.then(
    ([result]) => result,
    () => null,
  );
}
