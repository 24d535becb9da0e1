import type { FileHandle } from 'node:fs/promises';

/** A line of a file, without its line feed. */
export interface Line {
  readonly bytes: Buffer;
  /** False for a last line without a line feed: an append that was cut short. */
  readonly ended: boolean;
  /** The number under which it is stored, where it is stored under one. */
  readonly seq?: number;
}

const CHUNK = 1024 * 1024;
const LINE_FEED = 0x0a;

/** The longest line that is read, in bytes: a longer one is no entry of ours. */
const LONGEST_LINE = 16 * 1024 * 1024;

/**
 * Reads a file line by line up to its size at the beginning, so that a log that is being appended to is
 * read as it stood. The lines come in blocks, because a million promises take longer than the lines, and
 * one buffer is read into over and over: lines stay what they are until the next block is asked for.
 * A line above 16 MiB is cut there and told as if it ended.
 *
 * @param from The offset of a line to begin with.
 */
export async function* blocksOf(file: FileHandle, from = 0): AsyncIterable<readonly Line[]> {
  const { size } = await file.stat();
  let buffer = Buffer.allocUnsafe(Math.min(CHUNK, size - from));
  let held = 0; // the bytes of an unfinished line at the buffer's beginning
  for (let position = from; position < size; ) {
    if (held === buffer.length) buffer = Buffer.concat([buffer, Buffer.allocUnsafe(buffer.length)]);
    const { bytesRead } = await file.read(
      buffer,
      held,
      Math.min(buffer.length - held, size - position),
      position,
    );
    if (bytesRead === 0) break;
    position += bytesRead;
    const filled = buffer.subarray(0, held + bytesRead);
    const { lines, rest } = split(filled, held);
    if (lines.length > 0) yield lines;
    buffer.copyWithin(0, rest, filled.length);
    held = filled.length - rest;
    if (held > LONGEST_LINE) {
      yield [{ bytes: buffer.subarray(0, held), ended: true }];
      return;
    }
  }
  if (held > 0) yield [{ bytes: buffer.subarray(0, held), ended: false }];
}

/** The whole lines of a chunk, whose first bytes are known to hold no line feed, and where the rest begins. */
function split(chunk: Buffer, known: number): { readonly lines: Line[]; readonly rest: number } {
  const lines: Line[] = [];
  let start = 0;
  for (let end = chunk.indexOf(LINE_FEED, known); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
    lines.push({ bytes: chunk.subarray(start, end), ended: true });
    start = end + 1;
  }
  return { lines, rest: start };
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
