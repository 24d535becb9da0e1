import type { FileHandle } from 'node:fs/promises';
import type { Entry } from '../operations/audit-log-port.ts';
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
  let low = 0; // the start of a line at or before the one that is looked for
  let high = size; // the start of a line behind it, or the end
  let ceiling = size; // no line is known to start between here and `high`
  while (ceiling - low > BLOCK) {
    const middle = low + Math.floor((ceiling - low) / 2);
    const line = await lineBehind(file, middle, high);
    if (line === null) {
      ceiling = middle;
    } else if (line.seq <= seq) {
      low = line.start;
    } else {
      high = line.start;
      ceiling = high;
    }
  }
  const stretch = Buffer.allocUnsafe(high - low);
  await readFully(file, stretch, low);
  return linesIn(stretch).find((entry) => entry?.seq === seq) ?? null;
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
