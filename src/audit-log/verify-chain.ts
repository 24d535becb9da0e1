import type { Entry, Head, LogBreak, LogObserver, LogVerification } from '../operations/ports/audit-log.ts';
import { LineReader } from './canonical-line.ts';
import { type ChainState, canonical, emptyHead, hashOf, openAfter } from './chain.ts';
import { PRUNE, parseEntry, ROTATE, readPruning, readRotation } from './entry.ts';
import type { Line } from './lines.ts';

export interface VerifyChainOptions {
  readonly observer?: LogObserver | undefined;
  /** Whether the entries before the first line are known to be in another file. */
  readonly isPart?: boolean;
}

/**
 * Checks a log line by line: every line is an entry in canonical form, numbered without gaps, with the hash of the
 * previous line and the right list of open intents. Reports the first break. Memory does not grow with the log.
 */
export async function verifyChain(
  blocks: AsyncIterable<readonly Line[]>,
  options: VerifyChainOptions = {},
): Promise<LogVerification> {
  const check = new ChainCheck(options);
  for await (const block of blocks) {
    // All hashes first: interleaved with the rest, both take longer.
    const hashes = block.map(({ bytes }) => hashOf(bytes));
    if (block.some((line, index) => check.isDecidedBy(line, hashes[index] ?? ''))) return check.result();
  }
  return check.result();
}

/** The valid entries up to a line. */
interface Chain extends ChainState {
  /** The `previous` of the last entry. */
  readonly previous: string;
}

/** An entry without the hash of the previous line. */
interface Mismatch {
  readonly seq: number;
  readonly previous: string;
  /** The hash of its own line. */
  readonly hash: string;
}

type Fault = Omit<LogBreak, 'line' | 'expected'>;

type CheckedLine =
  | { readonly kind: 'valid'; readonly chain: Chain }
  | { readonly kind: 'faulty'; readonly fault: Fault }
  | { readonly kind: 'mismatch'; readonly mismatch: Mismatch };

class ChainCheck {
  readonly #observer: LogObserver | undefined;
  readonly #reader = new LineReader();
  #chain: Chain = { head: emptyHead, open: [], previous: '' };
  #line = 0;
  #tornBytes = 0;
  #break: LogBreak | null = null;
  #diagnosis: Diagnosis | null = null;
  /** How many entries are missing before the first line. */
  #missing = 0;
  #isMissingExplained: boolean;

  constructor({ observer, isPart = false }: VerifyChainOptions) {
    this.#observer = observer;
    this.#isMissingExplained = isPart;
  }

  /** Checks the next line. True if no further line can change the result. */
  isDecidedBy(line: Line, hash: string): boolean {
    this.#line += 1;
    if (!line.ended) {
      this.#tornBytes = line.bytes.length;
      return true;
    }
    if (this.#line === 1 && line.bytes.includes(ROTATE)) this.#begin(line.bytes);
    if (this.#diagnosis !== null) return this.#diagnosis.isDecidedBy(line.bytes);
    const checked = checkLine(line, hash, this.#reader, this.#chain);
    switch (checked.kind) {
      case 'valid':
        this.#chain = checked.chain;
        this.#accept(line.bytes);
        return false;
      case 'faulty':
        this.#break = { line: this.#line, expected: this.#chain.head.size + 1, ...checked.fault };
        return true;
      case 'mismatch':
        this.#diagnosis = new Diagnosis({
          line: this.#line,
          before: this.#chain,
          mismatch: checked.mismatch,
        });
        return false;
    }
  }

  result(): LogVerification {
    const { head } = this.#chain;
    return {
      entries: head.size,
      head,
      break: this.#break ?? this.#diagnosis?.verdict() ?? this.#missingBeginning(),
      tornBytes: this.#tornBytes,
      ...(this.#missing > 0 && { removed: this.#missing }),
    };
  }

  /** The first entry of a rotated file records the state of the log before it. */
  #begin(bytes: Buffer): void {
    const entry = parseEntry(bytes);
    const before = entry === null ? null : readRotation(entry);
    if (entry === null || before === null || before.head.size === 0) return;
    this.#chain = { head: before.head, open: entry.open, previous: '' };
    this.#missing = before.head.size;
    this.#observer?.begins(before.tree);
  }

  #accept(bytes: Buffer): void {
    this.#observer?.line(bytes);
    if (this.#missing === 0 || this.#isMissingExplained || !bytes.includes(PRUNE)) return;
    const entry = parseEntry(bytes);
    this.#isMissingExplained = entry !== null && (readPruning(entry) ?? 0) >= this.#missing;
  }

  #missingBeginning(): LogBreak | null {
    if (this.#missing === 0 || this.#isMissingExplained) return null;
    const which = this.#missing === 1 ? 'Entry 1 is' : `Entries 1 to ${this.#missing} are`;
    const message = `${which} missing, and no entry records their removal by log retention.`;
    return { line: 1, seq: this.#missing + 1, expected: 1, problem: 'removed', message };
  }
}

function checkLine(line: Line, hash: string, reader: LineReader, { head, open }: Chain): CheckedLine {
  const { bytes } = line;
  const isInPlace = line.seq === undefined || line.seq === head.size + 1;
  const next = isInPlace && line.isText ? reader.openAfterNext(bytes, { head, open }) : null;
  if (next !== null) return valid(hash, head, next);
  const entry = parseEntry(bytes);
  if (entry === null) return faulty('unreadable', null, 'The line is not a valid entry.');
  const { seq, previous } = entry;
  if (!isCanonical(entry, bytes)) return edited(seq, `Entry ${seq} was edited: it is not in canonical form.`);
  if (previous !== head.hash) return { kind: 'mismatch', mismatch: { seq, previous, hash } };
  if (seq !== head.size + 1) return edited(seq, `The entry after entry ${head.size} has the number ${seq}.`);
  if (line.seq !== undefined && line.seq !== seq) {
    return edited(seq, `Entry ${seq} is stored under the number ${line.seq}.`);
  }
  const openNow = openAfter(open, entry);
  if (entry.open.join() !== openNow.join()) return edited(seq, `Entry ${seq} lists the wrong open intents.`);
  return valid(hash, head, openNow);
}

function valid(hash: string, before: Head, open: readonly number[]): CheckedLine {
  return { kind: 'valid', chain: { head: { size: before.size + 1, hash }, open, previous: before.hash } };
}

/** Whether an entry is in canonical form (RFC 8785), which lone surrogates do not have. */
function isCanonical(entry: Entry, bytes: Buffer): boolean {
  try {
    return Buffer.from(canonical(entry)).equals(bytes);
  } catch {
    return false;
  }
}

function faulty(problem: LogBreak['problem'], seq: number | null, message: string): CheckedLine {
  return { kind: 'faulty', fault: { problem, seq, message } };
}

function edited(seq: number, message: string): CheckedLine {
  return faulty('edited', seq, message);
}

interface DiagnosisOptions {
  /** The mismatch's line, counted from 1. */
  readonly line: number;
  readonly before: Chain;
  readonly mismatch: Mismatch;
}

type Finding = Pick<LogBreak, 'problem' | 'message'>;

/** Finds the cause of a mismatch: which entry was edited, and whether a missing entry was removed or moved. */
class Diagnosis {
  readonly #options: DiagnosisOptions;
  #line: number;
  /** Which entry's hash the line after the mismatch contains; null before that line. */
  #next: 'of the mismatch' | 'of the previous entry' | 'neither' | null = null;
  #missingAt: number | null = null;
  #isRepeated = false;

  constructor(options: DiagnosisOptions) {
    this.#options = options;
    this.#line = options.line;
  }

  /** Reads the next line. True if no further line is needed. */
  isDecidedBy(bytes: Buffer): boolean {
    const { before, mismatch } = this.#options;
    this.#line += 1;
    const entry = parseEntry(bytes);
    if (this.#next === null) {
      if (entry?.previous === mismatch.hash) this.#next = 'of the mismatch';
      else if (entry?.previous === before.head.hash) this.#next = 'of the previous entry';
      else this.#next = 'neither';
    }
    const expected = before.head.size + 1;
    if (mismatch.seq <= expected) return true;
    // The missing entry may follow later (reordered), or this entry may appear again (inserted copy).
    if (entry?.seq === expected) this.#missingAt ??= this.#line;
    if (hashOf(bytes) === mismatch.hash) this.#isRepeated = true;
    return this.#missingAt !== null && this.#isRepeated;
  }

  /** The cause according to the lines read so far. */
  verdict(): LogBreak {
    const { line, before, mismatch } = this.#options;
    const { size } = before.head;
    const { seq } = mismatch;
    const here = { line, seq, expected: size + 1 };
    const entryBefore = { line: line - 1, seq: size, expected: size };
    if (seq > size + 1) return { ...here, ...this.#gap() };
    if (seq === size + 1) {
      if (this.#next === 'of the previous entry') return { ...here, ...insertedEntry(seq) };
      if (size === 0) return { ...here, ...editedEntry('Entry 1 is not the start of a log.') };
      if (this.#next === 'neither') {
        return { ...here, ...editedEntry(`Entry ${seq} was edited: it does not match its neighbors.`) };
      }
      const message =
        this.#next === null
          ? `Either entry ${size} or the last entry, ${seq}, was edited.`
          : `Entry ${size} was edited: entry ${seq} contains a different hash.`;
      return { ...entryBefore, ...editedEntry(message) };
    }
    // Two entries have the same number. The next line shows which one is the original.
    const isRival =
      seq === size && mismatch.previous === before.previous && mismatch.hash !== before.head.hash;
    const isOriginal = isRival && this.#next !== 'of the previous entry';
    return { ...(isOriginal ? entryBefore : here), ...insertedEntry(seq) };
  }

  #gap(): Finding {
    const { before, mismatch } = this.#options;
    const { seq } = mismatch;
    const expected = before.head.size + 1;
    if (this.#missingAt === null) {
      const which = seq - expected === 1 ? `Entry ${expected} is` : `Entries ${expected} to ${seq - 1} are`;
      return { problem: 'removed', message: `${which} missing before entry ${seq}.` };
    }
    if (this.#isRepeated) return insertedEntry(seq);
    const message = `Entry ${seq} is in the place of entry ${expected}, which is at line ${this.#missingAt}.`;
    return { problem: 'reordered', message };
  }
}

function editedEntry(message: string): Finding {
  return { problem: 'edited', message };
}

function insertedEntry(seq: number): Finding {
  return { problem: 'inserted', message: `There is a second entry ${seq}.` };
}
