import { isUtf8 } from 'node:buffer';
import type { FileHandle } from 'node:fs/promises';
import type { Entry } from '../operations/ports/audit-log.ts';
import { parseEntry } from './entry.ts';

/** A line of a log, without its line feed. */
export interface Line {
  readonly bytes: Buffer;
  /** Whether the bytes are UTF-8, as far as that was checked. */
  readonly isText: boolean;
  /** False for a last line without a line feed: an interrupted append. */
  readonly ended: boolean;
  /** The number of its database row. */
  readonly seq?: number;
}

const CHUNK_BYTES = 1024 * 1024;
const LINE_FEED = 0x0a;

/** The maximum length of a line, in bytes. No entry is longer. */
const MAX_LINE_BYTES = 16 * 1024 * 1024;

/**
 * Reads the lines of a file from an offset up to its current size. The lines of one block share a buffer,
 * which the next block overwrites. A line above 16 MiB is truncated, counts as ended, and is the last.
 */
export async function* linesOf(file: FileHandle, from = 0): AsyncIterable<readonly Line[]> {
  const { size } = await file.stat();
  let buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, size - from));
  let held = 0; // bytes of an unfinished line at the start of the buffer
  for (let position = from; position < size; ) {
    if (held === buffer.length) buffer = Buffer.concat([buffer, Buffer.allocUnsafe(buffer.length)]);
    const room = Math.min(buffer.length - held, size - position);
    const { bytesRead } = await file.read(buffer, held, room, position);
    if (bytesRead === 0) break;
    position += bytesRead;
    const filled = held + bytesRead;
    const end = buffer.subarray(held, filled).lastIndexOf(LINE_FEED) + 1;
    if (end === 0) {
      held = filled;
    } else {
      yield endedLines(buffer.subarray(0, held + end));
      buffer.copyWithin(0, held + end, filled);
      held = filled - held - end;
    }
    if (held > MAX_LINE_BYTES) {
      yield [{ bytes: buffer.subarray(0, held), isText: false, ended: true }];
      return;
    }
  }
  if (held > 0) yield [{ bytes: buffer.subarray(0, held), isText: false, ended: false }];
}

/** The lines of a chunk that ends with a line feed. */
function endedLines(chunk: Buffer): Line[] {
  const lines: Line[] = [];
  const isText = isUtf8(chunk);
  let start = 0;
  for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
    lines.push({ bytes: chunk.subarray(start, end), isText, ended: true });
    start = end + 1;
  }
  return lines;
}

export interface Tail {
  /** The last line that ends with a line feed, without it; null if there is none. */
  readonly line: Buffer | null;
  /** The bytes after that line, from an interrupted append. Usually empty. */
  readonly torn: Buffer;
}

export async function tailOf(file: FileHandle, size: number): Promise<Tail> {
  let tail: Buffer = Buffer.alloc(0);
  for (let position = size; position > 0; ) {
    const length = Math.min(position, CHUNK_BYTES);
    const buffer = Buffer.allocUnsafe(length);
    await readFully(file, buffer, position - length);
    tail = Buffer.concat([buffer, tail]);
    position -= length;
    const end = tail.lastIndexOf(LINE_FEED);
    const start = end <= 0 ? -1 : tail.lastIndexOf(LINE_FEED, end - 1);
    if (start !== -1 || tail.length > MAX_LINE_BYTES) return splitTail(tail, start, end);
  }
  return splitTail(tail, -1, tail.lastIndexOf(LINE_FEED));
}

function splitTail(tail: Buffer, start: number, end: number): Tail {
  if (end === -1) return { line: null, torn: tail };
  return { line: tail.subarray(start + 1, end), torn: tail.subarray(end + 1) };
}

/** Ranges up to this size are read as a whole, in bytes. */
const BLOCK_BYTES = 64 * 1024;

/**
 * Finds an entry by its number with a binary search: about twenty reads for a million entries.
 * @param size The number of bytes to search, up to the end of a complete line.
 * @returns The entry, or null if the file does not contain it.
 */
export async function findEntry(file: FileHandle, size: number, seq: number): Promise<Entry | null> {
  const { low, high } = await rangeWith(file, size, seq);
  const range = Buffer.allocUnsafe(high - low);
  await readFully(file, range, low);
  return entriesIn(range).find((entry) => entry?.seq === seq) ?? null;
}

/**
 * Finds the start of a line at or shortly before an entry, with a binary search.
 * @returns The offset of the line, and the number of earlier lines; the start of the file if nothing better is found.
 */
export async function lineBefore(
  file: FileHandle,
  seq: number,
): Promise<{ readonly offset: number; readonly skipped: number }> {
  const { size } = await file.stat();
  const { low, seq: found } = await rangeWith(file, size, seq);
  const first = found === null ? null : await firstEntry(file, size);
  if (found === null || first === null) return { offset: 0, skipped: 0 };
  return { offset: low, skipped: found - first.seq };
}

async function firstEntry(file: FileHandle, size: number): Promise<Entry | null> {
  const start = Buffer.allocUnsafe(Math.min(BLOCK_BYTES, size));
  await readFully(file, start, 0);
  return entriesIn(start)[0] ?? null;
}

/** A range of complete lines. It contains the entry if the file does. */
interface LineRange {
  readonly low: number;
  readonly high: number;
  /** The number of the entry at `low`; null for the start of the file. */
  readonly seq: number | null;
}

async function rangeWith(file: FileHandle, size: number, seq: number): Promise<LineRange> {
  let low = 0; // the start of a line at or before the entry
  let found: number | null = null;
  let high = size; // the start of a line after the entry, or the end
  let ceiling = size; // no line is known to start between here and `high`
  while (ceiling - low > BLOCK_BYTES) {
    const middle = low + Math.floor((ceiling - low) / 2);
    const line = await firstLineAfter(file, middle, high);
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

/** The first entry whose line starts after an offset and before `high`; null if there is none. */
async function firstLineAfter(file: FileHandle, offset: number, high: number) {
  for (let length = Math.min(BLOCK_BYTES, high - offset); ; length = Math.min(length * 2, high - offset)) {
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

function entriesIn(range: Buffer): (Entry | null)[] {
  return endedLines(range).map(({ bytes }) => parseEntry(bytes));
}

async function readFully(file: FileHandle, buffer: Buffer, position: number): Promise<void> {
  for (let done = 0; done < buffer.length; ) {
    const { bytesRead } = await file.read(buffer, done, buffer.length - done, position + done);
    if (bytesRead === 0) throw new Error('The file became shorter while it was read');
    done += bytesRead;
  }
}
