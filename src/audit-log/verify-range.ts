import type { FileHandle } from 'node:fs/promises';
import type { Head } from '../operations/ports/audit-log.ts';
import { anchorAt } from './anchor.ts';
import { ChainScan } from './chain-scan.ts';
import { chunksOf, LINE_FEED, readFully } from './lines.ts';
import type { ChainCheck } from './verify-chain.ts';

/** A stretch of a log's file: the lines that begin in it, and the one behind. Offsets in bytes. */
export interface Range {
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
export async function verifyRange(file: FileHandle, { from, to }: Range): Promise<CheckedRange | null> {
  const start = from === 0 ? 0 : await lineStart(file, from);
  const end = await lineStart(file, (await lineStart(file, to)) + 1);
  let scan = from === 0 ? new ChainScan() : null;
  let first: Head | null = null;
  let check: ChainCheck | null = null;
  for await (const chunk of chunksOf(file, { from: start, to: end })) {
    let at = 0;
    if (scan === null) {
      const anchor = await anchorAt(chunk);
      if (anchor === null) return null;
      scan = new ChainScan(anchor.chain);
      first = anchor.chain.head;
      at = anchor.end;
    }
    if (check === null) at = scan.accept(chunk, { start: at });
    if (at === chunk.length) continue;
    check ??= await closerCheck(scan);
    if (check.isSettledByChunk(chunk.subarray(at))) break;
  }
  if (scan === null) return null;
  if (check === null) return { first, last: scan.chain.head, tornBytes: 0 };
  const { break: found, head, tornBytes } = check.result();
  return found === null ? { first, last: head, tornBytes } : null;
}

/** What the scan does not accept needs the parser, which a thread loads only then. */
async function closerCheck({ chain }: ChainScan): Promise<ChainCheck> {
  const { ChainCheck } = await import('./verify-chain.ts');
  return new ChainCheck({}, chain);
}

const WINDOW = 64 * 1024;

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
