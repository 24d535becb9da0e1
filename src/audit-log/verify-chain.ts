import type { LogBreak, LogObserver, LogVerification } from '../operations/ports/audit-log.ts';
import { ChainScan } from './chain-scan.ts';
import { type Accepted, Diagnosis } from './diagnosis.ts';
import { parseEntry } from './entry.ts';
import { follow } from './follow.ts';
import { LINE_FEED, type Line, lineAt } from './lines.ts';
import type { ChainState } from './link-group.ts';
import { PRUNE, readPruning, readRotation } from './rotation-note.ts';

/** How a log is verified. */
export interface VerifyChainOptions {
  readonly observer?: LogObserver | undefined;
  /** Whether what is before the first line is known to stand elsewhere. */
  readonly isPart?: boolean;
}

/**
 * Checks a log line by line, holding no more than a block of it: that every line is an entry, written
 * canonically, numbered without gaps, carrying the hash of the line before it and the right list of open
 * intents. It tells of the first break.
 */
export async function verifyChain(
  blocks: AsyncIterable<readonly Line[]>,
  options: VerifyChainOptions = {},
): Promise<LogVerification> {
  const check = new ChainCheck(options);
  for await (const block of blocks) {
    for (const line of block) {
      if (check.isSettledBy(line)) return check.result();
    }
  }
  return check.result();
}

/** Checks a log that comes in chunks of whole lines with their line feeds: the same, and faster. */
export async function verifyChunks(
  chunks: AsyncIterable<Buffer>,
  options: VerifyChainOptions = {},
): Promise<LogVerification> {
  const check = new ChainCheck(options);
  for await (const chunk of chunks) {
    if (check.isSettledByChunk(chunk)) break;
  }
  return check.result();
}

/** The check of a log, a line at a time or many at once. */
export class ChainCheck {
  readonly #observer: LogObserver | undefined;
  readonly #scan: ChainScan;
  /** Whether the first line is that of a log, or of what is left of one. */
  readonly #isFromBeginning: boolean;
  #line = 0;
  #tornBytes = 0;
  #break: LogBreak | null = null;
  #diagnosis: Diagnosis | null = null;
  /** How many entries are missing before the first, and whether it is known why. */
  #missing = 0;
  #isMissingKnown: boolean;

  /** @param start What the first line is to follow from. */
  constructor({ observer, isPart = false }: VerifyChainOptions = {}, start?: Accepted) {
    this.#observer = observer;
    this.#isMissingKnown = isPart;
    this.#isFromBeginning = start === undefined;
    this.#scan = new ChainScan(start);
  }

  /** Takes the next line. True where no further one changes the result. */
  isSettledBy(line: Line): boolean {
    return !this.#isScanned(line) && this.#isSettledByReading(line);
  }

  /** Takes the next lines, with their line feeds; only a log's last one may lack it. */
  isSettledByChunk(chunk: Buffer): boolean {
    for (let at = this.#scanned(chunk, 0); at < chunk.length; at = this.#scanned(chunk, at)) {
      const line = lineAt(chunk, at);
      if (this.#isSettledByReading(line)) return true;
      at += line.bytes.length + 1;
    }
    return false;
  }

  /** Where the chain stands that holds so far. */
  get chain(): ChainState {
    return this.#scan.chain;
  }

  /** What was found so far. */
  result(): LogVerification {
    const { head } = this.chain;
    const found = this.#break ?? this.#diagnosis?.verdict() ?? this.#beginningRemoved();
    return {
      entries: head.size,
      head,
      break: found,
      tornBytes: this.#tornBytes,
      ...(this.#missing > 0 && { removed: this.#missing }),
    };
  }

  #isScanned({ bytes, ended, seq }: Line): boolean {
    const isAsStored = seq === undefined || seq === this.chain.head.size + 1;
    if (!ended || !isAsStored || bytes.includes(LINE_FEED)) return false;
    return this.#scanned(Buffer.concat([bytes, Buffer.of(LINE_FEED)]), 0) > 0;
  }

  /** Accepts what the scan can from an offset on, and tells how far that is. */
  #scanned(lines: Buffer, start: number): number {
    const isBeginning = this.#line === 0 && this.#isFromBeginning;
    if (isBeginning || this.#diagnosis !== null) return start;
    const { size } = this.chain.head;
    const isWatched = this.#observer !== undefined || this.#missing > 0;
    const end = this.#scan.accept(lines, {
      start,
      ...(isWatched && { each: (line) => this.#accepted(line) }),
    });
    this.#line += this.chain.head.size - size;
    return end;
  }

  /** What the scan does not accept is read by the parser. */
  #isSettledByReading(line: Line): boolean {
    this.#line += 1;
    if (!line.ended) {
      this.#tornBytes = line.bytes.length;
      return true;
    }
    if (this.#line === 1 && this.#isFromBeginning) this.#begin(line.bytes);
    if (this.#diagnosis !== null) return this.#diagnosis.isSettledBy(line.bytes);
    const before = this.#scan.chain;
    const next = follow(line, before);
    if ('head' in next) {
      this.#scan.chain = next;
      this.#accepted(line.bytes);
    } else if ('problem' in next) {
      this.#break = { line: this.#line, expected: before.head.size + 1, ...next };
    } else {
      this.#diagnosis = new Diagnosis({ line: this.#line, before, suspect: next });
    }
    return this.#break !== null;
  }

  /** A file that rotation began says what stood before it. */
  #begin(bytes: Buffer): void {
    const entry = parseEntry(bytes);
    const before = entry === null ? null : readRotation(entry);
    if (entry === null || before === null || before.head.size === 0) return;
    this.#scan.chain = { head: before.head, open: entry.open, previous: '' };
    this.#missing = before.head.size;
    this.#observer?.begins(before.tree);
  }

  #accepted(bytes: Buffer): void {
    this.#observer?.line(bytes);
    if (this.#missing === 0 || this.#isMissingKnown || !bytes.includes(PRUNE)) return;
    const entry = parseEntry(bytes);
    this.#isMissingKnown = entry !== null && (readPruning(entry) ?? 0) >= this.#missing;
  }

  #beginningRemoved(): LogBreak | null {
    if (this.#missing === 0 || this.#isMissingKnown) return null;
    const which = this.#missing === 1 ? 'Entry 1 is' : `Entries 1 to ${this.#missing} are`;
    const message = `${which} missing, and no entry says that retention removed them.`;
    return { line: 1, seq: this.#missing + 1, expected: 1, problem: 'removed', message };
  }
}
