import { type FileHandle, open } from 'node:fs/promises';
import type { Head } from '../operations/ports/audit-log.ts';
import { hashOf } from './chain.ts';
import type { Accepted } from './diagnosis.ts';
import { parseEntry } from './entry.ts';
import { blocksOf, readFully } from './lines.ts';
import { ChainCheck } from './verify-chain.ts';

/** A stretch of a log's file: the lines that begin in it, and the one behind. */
export interface Range {
  readonly path: string;
  /** Offsets in bytes. */
  readonly from: number;
  readonly to: number;
}

/** What a stretch begins and ends with. */
export interface CheckedRange {
  /** The head after its first line; null where the log begins with it. */
  readonly first: Head | null;
  readonly last: Head;
  readonly tornBytes: number;
}

/**
 * Checks a stretch of a log: that each line follows from the one before. Its first line is taken as it is,
 * unless the log begins with it; the stretch before ends with that line.
 *
 * @returns Null where it does not hold, or where that cannot be told from the stretch alone.
 */
export async function verifyRange({ path, from, to }: Range): Promise<CheckedRange | null> {
  await using file = await open(path);
  const start = from === 0 ? 0 : await lineStart(file, from);
  let offset = start;
  let check: ChainCheck | null = from === 0 ? new ChainCheck() : null;
  let first: Head | null = null;
  for await (const block of blocksOf(file, start)) {
    for (const line of block) {
      const isBehind = offset >= to;
      offset += line.bytes.length + 1;
      if (check === null) {
        const anchor = accepted(line.bytes);
        if (anchor === null) return null;
        first = anchor.head;
        check = new ChainCheck({}, anchor);
      } else if (check.isSettledBy(line)) {
        return ending(check, first);
      }
      if (isBehind) return ending(check, first);
    }
  }
  return check === null ? null : ending(check, first);
}

function ending(check: ChainCheck, first: Head | null): CheckedRange | null {
  const { break: found, head, tornBytes, removed = 0 } = check.result();
  return found === null && removed === 0 ? { first, last: head, tornBytes } : null;
}

/** What the line behind an entry has to follow from. */
function accepted(bytes: Buffer): Accepted | null {
  const entry = parseEntry(bytes);
  if (entry === null) return null;
  const { seq, open: unfinished, previous } = entry;
  return { head: { size: seq, hash: hashOf(bytes) }, open: unfinished, previous };
}

const WINDOW = 64 * 1024;
const LINE_FEED = 0x0a;

/** The offset of the first line that begins at an offset or behind it. */
async function lineStart(file: FileHandle, from: number): Promise<number> {
  const { size } = await file.stat();
  for (let position = from - 1; position < size; position += WINDOW) {
    const window = Buffer.allocUnsafe(Math.min(WINDOW, size - position));
    await readFully(file, window, position);
    const found = window.indexOf(LINE_FEED);
    if (found !== -1) return position + found + 1;
  }
  return size;
}
