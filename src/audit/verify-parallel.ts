import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { LogVerification } from '../operations/ports/audit-log.ts';
import { type CheckedRange, type Range, verifyRange } from './verify-range.ts';

/** How large a stretch is worth a thread of its own, in bytes. */
const WORTH_A_THREAD = 32 * 1024 * 1024;

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
  const count = Math.min(availableParallelism(), MOST_THREADS, Math.floor(size / worthAThread));
  if (count < 2) return null;
  const offsets = Array.from({ length: count + 1 }, (_, index) => Math.floor((size * index) / count));
  const [own, ...others] = offsets
    .slice(0, -1)
    .map((from, index): Range => ({ path, from, to: offsets[index + 1] ?? size }));
  if (own === undefined) return null;
  const checked = await Promise.all([...others.map(inThread), verifyRange(own)]);
  const first = checked.pop();
  return first == null ? null : joined([first, ...checked]);
}

/** One result for neighbouring stretches: each begins with the line that the one before ended with. */
function joined(ranges: readonly (CheckedRange | null)[]): LogVerification | null {
  let before: CheckedRange | null = null;
  for (const range of ranges) {
    if (range === null) return null;
    if (before !== null && range.first?.hash !== before.last.hash) return null;
    before = range;
  }
  if (before === null) return null;
  const { last, tornBytes } = before;
  return { entries: last.size, head: last, break: null, tornBytes };
}

/** What cannot be had from a thread is had by reading in one go. */
async function inThread(range: Range): Promise<CheckedRange | null> {
  const program = new URL(`./verify-worker${extname(import.meta.url)}`, import.meta.url);
  const worker = new Worker(program, { workerData: range });
  const answer = once(worker, 'message') as Promise<[CheckedRange | null]>;
  return await answer.then(
    ([result]) => result,
    () => null,
  );
}
