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
/** What ends a line. */
export const LINE_FEED = 0x0a;

/** The longest line that is read, in bytes: a longer one is no entry of ours. */
const LONGEST_LINE = 16 * 1024 * 1024;

/** Which part of a file is read: offsets in bytes. */
export interface Part {
  /** Where a line begins; the file's beginning where not given. */
  readonly from?: number;
  /** The file's end where not given. */
  readonly to?: number;
}

/**
 * Reads a file, or part of it, up to its size at the beginning, so that a log that is being appended to is
 * read as it stood. Each chunk is of whole lines with their line feeds; only the last may lack one. One
 * buffer is read into over and over: a chunk stays what it is until the next is asked for. A line above
 * 16 MiB is cut there, is given a line feed, and is the last.
 */
export async function* chunksOf(file: FileHandle, { from = 0, to }: Part = {}): AsyncIterable<Buffer> {
  const end = to ?? (await file.stat()).size;
  let buffer = Buffer.allocUnsafe(Math.min(CHUNK, end - from));
  let held = 0; // the bytes of an unfinished line at the buffer's beginning
  for (let position = from; position < end; ) {
    if (held === buffer.length) buffer = Buffer.concat([buffer, Buffer.allocUnsafe(buffer.length)]);
    const room = Math.min(buffer.length - held, end - position);
    const { bytesRead } = await file.read(buffer, held, room, position);
    if (bytesRead === 0) break;
    position += bytesRead;
    const filled = held + bytesRead;
    const rest = buffer.subarray(held, filled).lastIndexOf(LINE_FEED) + 1;
    if (rest === 0) {
      held = filled;
    } else {
      yield buffer.subarray(0, held + rest);
      buffer.copyWithin(0, held + rest, filled);
      held = filled - held - rest;
    }
    if (held > LONGEST_LINE) {
      yield ended(buffer.subarray(0, held));
      return;
    }
  }
  if (held > 0) yield buffer.subarray(0, held);
}

/** Some lines of which the last ends with a line feed, if need be with one of ours. */
export function ended(lines: Buffer): Buffer {
  return lines.at(-1) === LINE_FEED ? lines : Buffer.concat([lines, Buffer.of(LINE_FEED)]);
}

/** The line of a chunk that begins at an offset. */
export function lineAt(chunk: Buffer, start: number): Line {
  const end = chunk.indexOf(LINE_FEED, start);
  const bytes = chunk.subarray(start, end === -1 ? chunk.length : end);
  return { bytes, ended: end !== -1 };
}

/** The lines of a chunk. They come in blocks, because a million promises take longer than the lines. */
export function linesOf(chunk: Buffer): readonly Line[] {
  const lines: Line[] = [];
  for (let at = 0; at < chunk.length; ) {
    const line = lineAt(chunk, at);
    lines.push(line);
    at += line.bytes.length + 1;
  }
  return lines;
}

/** How many lines a chunk has, an unfinished one among them. */
export function lineCount(chunk: Buffer): number {
  let count = 0;
  for (let at = 0; at < chunk.length; count += 1) {
    const end = chunk.indexOf(LINE_FEED, at);
    at = end === -1 ? chunk.length : end + 1;
  }
  return count;
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
