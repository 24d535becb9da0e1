import type { FileHandle } from 'node:fs/promises';

/** A line of a file, without its line feed. */
export interface Line {
  readonly bytes: Buffer;
  /** False for a last line without a line feed: an append that was cut short. */
  readonly ended: boolean;
}

const CHUNK = 256 * 1024;
const LINE_FEED = 0x0a;

/** The longest line that is read, in bytes: a longer one is no entry of ours. */
const LONGEST_LINE = 16 * 1024 * 1024;

/**
 * Reads a file line by line up to its size at the beginning, so that a log that is being appended to is
 * read as it stood. A line above 16 MiB is cut there and told as if it ended.
 */
export async function* linesOf(file: FileHandle): AsyncIterable<Line> {
  const { size } = await file.stat();
  let pieces: Buffer[] = [];
  let held = 0;
  for (let position = 0; position < size; ) {
    const buffer = Buffer.allocUnsafe(Math.min(CHUNK, size - position));
    const { bytesRead } = await file.read(buffer, 0, buffer.length, position);
    if (bytesRead === 0) break;
    position += bytesRead;
    let start = 0;
    const chunk = buffer.subarray(0, bytesRead);
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      yield lineOf([...pieces, chunk.subarray(start, end)], true);
      pieces = [];
      held = 0;
      start = end + 1;
    }
    if (start < chunk.length) {
      pieces.push(chunk.subarray(start));
      held += chunk.length - start;
    }
    if (held > LONGEST_LINE) {
      yield lineOf(pieces, true);
      return;
    }
  }
  if (held > 0) yield lineOf(pieces, false);
}

function lineOf(pieces: readonly Buffer[], ended: boolean): Line {
  const [first, ...rest] = pieces;
  return { bytes: first !== undefined && rest.length === 0 ? first : Buffer.concat(pieces), ended };
}

/** The last line of a file, read from its end. */
export interface Tail {
  /** The last line that ends with a line feed, without it; null where there is none. */
  readonly line: Buffer | null;
  /** What stands behind it: an append that was cut short. Empty where nothing does. */
  readonly torn: Buffer;
}

/** Reads the end of a file of the given size, back to the beginning of its last whole line. */
export async function tailOf(file: FileHandle, size: number): Promise<Tail> {
  let tail: Buffer = Buffer.alloc(0);
  for (let position = size; position > 0; ) {
    const length = Math.min(position, CHUNK);
    const buffer = Buffer.allocUnsafe(length);
    await readFully(file, buffer, position - length);
    tail = Buffer.concat([buffer, tail]);
    position -= length;
    const end = tail.lastIndexOf(LINE_FEED);
    const start = end <= 0 ? -1 : tail.lastIndexOf(LINE_FEED, end - 1);
    if (start !== -1 || tail.length > LONGEST_LINE) return cut(tail, start, end);
  }
  return cut(tail, -1, tail.lastIndexOf(LINE_FEED));
}

function cut(tail: Buffer, start: number, end: number): Tail {
  if (end === -1) return { line: null, torn: tail };
  return { line: tail.subarray(start + 1, end), torn: tail.subarray(end + 1) };
}

/** Fills the buffer from the position on, or throws where the file ends before. */
export async function readFully(file: FileHandle, buffer: Buffer, position: number): Promise<void> {
  for (let done = 0; done < buffer.length; ) {
    const { bytesRead } = await file.read(buffer, done, buffer.length - done, position + done);
    if (bytesRead === 0) throw new Error('The file became shorter while it was read');
    done += bytesRead;
  }
}
