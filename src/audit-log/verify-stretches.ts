import { open } from 'node:fs/promises';
import { type CheckedRange, verifyRange } from './verify-range.ts';

/** A log's file that several threads check, each taking the next stretch that nobody has taken. */
export interface Shared {
  readonly path: string;
  /** Where the stretches begin, and the file's end. */
  readonly offsets: readonly number[];
  /** One number that the threads share: the index of the next stretch. */
  readonly next: Int32Array<SharedArrayBuffer>;
}

/** A stretch that holds by itself. */
export interface CheckedStretch extends CheckedRange {
  readonly index: number;
}

/**
 * Checks stretches until all are taken.
 *
 * @returns What was checked here; null where one does not hold, or where that cannot be told: then the others
 * stop as well.
 */
export async function verifyStretches({ path, offsets, next }: Shared): Promise<CheckedStretch[] | null> {
  await using file = await open(path);
  const checked: CheckedStretch[] = [];
  for (let index = Atomics.add(next, 0, 1); ; index = Atomics.add(next, 0, 1)) {
    const from = offsets[index];
    const to = offsets[index + 1];
    if (from === undefined || to === undefined) return checked;
    const range = await verifyRange(file, { from, to });
    if (range === null) {
      Atomics.store(next, 0, offsets.length);
      return null;
    }
    checked.push({ index, ...range });
  }
}
