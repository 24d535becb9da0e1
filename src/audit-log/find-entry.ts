import type { FileHandle } from 'node:fs/promises';
import type { Entry } from '../operations/ports/audit-log.ts';
import { parseEntry } from './entry.ts';
import { readFully } from './lines.ts';

/** Stretches up to this many bytes are read whole. */
const BLOCK = 64 * 1024;
const LINE_FEED = 0x0a;

/**
 * Finds an entry by its number, by halving: numbers ascend through the file, so that a million entries
 * take some twenty reads.
 *
 * @param size How far to look, in bytes: the end of a whole line.
 * @returns The entry, or null where there is none of that number.
 */
export async function findEntry(file: FileHandle, size: number, seq: number): Promise<Entry | null> {
  const { low, high } = await stretchWith(file, size, seq);
  const stretch = Buffer.allocUnsafe(high - low);
  await readFully(file, stretch, low);
  return linesIn(stretch).find((entry) => entry?.seq === seq) ?? null;
}

/**
 * Finds a line in a file that stands at or a little before an entry, by halving.
 *
 * @returns Its offset, and how many lines are before it; the file's beginning where nothing better is found.
 */
export async function lineBefore(
  file: FileHandle,
  seq: number,
): Promise<{ readonly offset: number; readonly skipped: number }> {
  const { size } = await file.stat();
  const { low, seq: found } = await stretchWith(file, size, seq);
  const first = found === null ? null : await firstEntry(file, size);
  if (found === null || first === null) return { offset: 0, skipped: 0 };
  return { offset: low, skipped: found - first.seq };
}

/** The entry on the first line, where that is no longer than a block. */
async function firstEntry(file: FileHandle, size: number): Promise<Entry | null> {
  const beginning = Buffer.allocUnsafe(Math.min(BLOCK, size));
  await readFully(file, beginning, 0);
  return linesIn(beginning)[0] ?? null;
}

/** The stretch of a file that an entry stands in, where it is there: it begins and ends with whole lines. */
async function stretchWith(
  file: FileHandle,
  size: number,
  seq: number,
): Promise<{ readonly low: number; readonly high: number; readonly seq: number | null }> {
  let low = 0; // the start of a line at or before the one that is looked for
  let found: number | null = null; // the number of the entry there; null for the file's beginning
  let high = size; // the start of a line behind it, or the end
  let ceiling = size; // no line is known to start between here and `high`
  while (ceiling - low > BLOCK) {
    const middle = low + Math.floor((ceiling - low) / 2);
    const line = await lineBehind(file, middle, high);
    if (line === null) {
      ceiling = middle;
    } else if (line.seq <= seq) {
      low = line.start;
      found = line.seq;
    } else {
      high = line.start;
      ceiling = high;
    }
  }
  return { low, high, seq: found };
}

/** The first entry whose line starts behind an offset and before `high`; null for none. */
async function lineBehind(
  file: FileHandle,
  offset: number,
  high: number,
): Promise<{ start: number; seq: number } | null> {
  for (let length = Math.min(BLOCK, high - offset); ; length = Math.min(length * 2, high - offset)) {
    const window = Buffer.allocUnsafe(length);
    await readFully(file, window, offset);
    const before = window.indexOf(LINE_FEED);
    const end = before === -1 ? -1 : window.indexOf(LINE_FEED, before + 1);
    if (end !== -1) {
      const entry = parseEntry(window.subarray(before + 1, end));
      return entry === null ? null : { start: offset + before + 1, seq: entry.seq };
    }
    if (length === high - offset) return null;
  }
}

function linesIn(stretch: Buffer): (Entry | null)[] {
  const entries: (Entry | null)[] = [];
  let start = 0;
  for (let end = stretch.indexOf(LINE_FEED); end !== -1; end = stretch.indexOf(LINE_FEED, start)) {
    entries.push(parseEntry(stretch.subarray(start, end)));
    start = end + 1;
  }
  return entries;
}
