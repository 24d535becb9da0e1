import type { Entry, LogBreak, LogObserver, LogVerification } from '../operations/ports/audit-log.ts';
import { canonical, emptyHead, hashOf, openAfter } from './chain.ts';
import { type Accepted, Diagnosis, type Suspect } from './diagnosis.ts';
import { parseEntry } from './entry.ts';
import { type EntryLink, EntryScanner } from './entry-scan.ts';
import type { Line } from './lines.ts';
import type { ChainState } from './link-group.ts';
import { PRUNE, readPruning, readRotation } from './rotation-note.ts';

/** A log without entries. */
const beginning: Accepted = { head: emptyHead, open: [], previous: '' };

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

/** The check of a log, a line at a time. */
export class ChainCheck {
  readonly #observer: LogObserver | undefined;
  readonly #scanner = new EntryScanner();
  #chain: Accepted;
  #line = 0;
  #tornBytes = 0;
  #break: LogBreak | null = null;
  #diagnosis: Diagnosis | null = null;
  /** How many entries are missing before the first, and whether it is known why. */
  #missing = 0;
  #isMissingKnown: boolean;

  /** @param start What the first line is to follow from. */
  constructor({ observer, isPart = false }: VerifyChainOptions = {}, start = beginning) {
    this.#observer = observer;
    this.#isMissingKnown = isPart;
    this.#chain = start;
  }

  /** Takes the next line. True where no further one changes the result. */
  isSettledBy(line: Line): boolean {
    this.#line += 1;
    if (!line.ended) {
      this.#tornBytes = line.bytes.length;
      return true;
    }
    if (this.#line === 1 && this.#chain === beginning) this.#begin(line.bytes);
    if (this.#diagnosis !== null) return this.#diagnosis.isSettledBy(line.bytes);
    const { head } = this.#chain;
    const entry = this.#scanner.scan(line.bytes, head.hash) ?? parseLink(line.bytes);
    const next = follow(line, { entry, before: this.#chain });
    if ('head' in next) {
      this.#accept(line.bytes, next);
    } else if ('problem' in next) {
      this.#break = { line: this.#line, expected: this.#chain.head.size + 1, ...next };
    } else {
      this.#diagnosis = new Diagnosis({ line: this.#line, before: this.#chain, suspect: next });
    }
    return this.#break !== null;
  }

  /** Where the chain stands that holds so far. */
  get chain(): ChainState {
    return this.#chain;
  }

  /** What was found so far. */
  result(): LogVerification {
    const { head } = this.#chain;
    const found = this.#break ?? this.#diagnosis?.verdict() ?? this.#beginningRemoved();
    return {
      entries: head.size,
      head,
      break: found,
      tornBytes: this.#tornBytes,
      ...(this.#missing > 0 && { removed: this.#missing }),
    };
  }

  /** A file that rotation began says what stood before it. */
  #begin(bytes: Buffer): void {
    const entry = parseEntry(bytes);
    const before = entry === null ? null : readRotation(entry);
    if (entry === null || before === null || before.head.size === 0) return;
    this.#chain = { head: before.head, open: entry.open, previous: '' };
    this.#missing = before.head.size;
    this.#observer?.begins(before.tree);
  }

  #accept(bytes: Buffer, next: Accepted): void {
    this.#chain = next;
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

/** The chain with a line, what is wrong with the line, or a line that does not follow: for a diagnosis. */
function follow(
  line: Line,
  { entry, before }: { readonly entry: EntryLink | null; readonly before: Accepted },
): Accepted | Fault | Suspect {
  const { bytes } = line;
  if (entry === null) return fault('unreadable', null, 'It is not an entry.');
  const { seq, previous } = entry;
  if (entry.isReformatted === true) {
    return fault('edited', seq, `Entry ${seq} is not written as it was recorded.`);
  }
  const { head, open } = before;
  if (previous !== head.hash) return { seq, previous, hash: hashOf(bytes) };
  if (seq !== head.size + 1) {
    return fault('edited', seq, `The entry behind entry ${head.size} says that it is entry ${seq}.`);
  }
  if (line.seq !== undefined && line.seq !== seq) {
    return fault('edited', seq, `Entry ${seq} is stored under the number ${line.seq}.`);
  }
  const openNow = openAfter(open, entry);
  if (!isSame(entry.open, openNow)) {
    return fault('edited', seq, `Entry ${seq} does not list the open intents as they are.`);
  }
  return { head: { size: seq, hash: hashOf(bytes) }, open: openNow, previous };
}

/** What the scan reads, by the parser: exact, and slower. */
function parseLink(bytes: Buffer): EntryLink | null {
  const entry = parseEntry(bytes);
  if (entry === null) return null;
  const { seq, kind, closes, open, previous } = entry;
  return { seq, kind, closes, open, previous, isReformatted: !isCanonical(entry, bytes) };
}

/** Whether an entry is written in its canonical form. What has none is not. */
function isCanonical(entry: Entry, bytes: Buffer): boolean {
  try {
    return Buffer.from(canonical(entry)).equals(bytes);
  } catch {
    // JSON can write numbers too large to be any, and halves of surrogate pairs.
    return false;
  }
}

function isSame(one: readonly number[], other: readonly number[]): boolean {
  return one === other || (one.length === other.length && one.every((seq, index) => seq === other[index]));
}

/** What is wrong with a line by itself. */
type Fault = Omit<LogBreak, 'line' | 'expected'>;

function fault(problem: LogBreak['problem'], seq: number | null, message: string): Fault {
  return { problem, seq, message };
}
