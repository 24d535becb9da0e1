import type { LogBreak } from '../operations/ports/audit-log.ts';
import { hashOf } from './chain.ts';
import { parseEntry } from './entry.ts';
import type { ChainState } from './link-group.ts';

/** A chain that holds so far, with what its last entry says of the one before. */
export interface Accepted extends ChainState {
  /** The `previous` of the last entry. */
  readonly previous: string;
}

/** An entry that does not carry the hash of the line before it. */
export interface Suspect {
  readonly seq: number;
  readonly previous: string;
  /** The hash of its own line. */
  readonly hash: string;
}

/** Where a chain stopped to hold. */
export interface Stop {
  /** The suspect's line, counted from 1. */
  readonly line: number;
  readonly before: Accepted;
  readonly suspect: Suspect;
}

/**
 * Finds out what happened where an entry does not follow from the one before: what stands behind tells
 * which of the two was changed, and whether what is missing was removed or only stands elsewhere.
 */
export class Diagnosis {
  readonly #stop: Stop;
  #line: number;
  /** Whether the line behind the suspect carries the suspect's hash, or the one before's; null before it. */
  #behind: 'follows the suspect' | 'follows the one before' | 'neither' | null = null;
  #missingAt: number | null = null;
  #isRepeated = false;

  constructor(stop: Stop) {
    this.#stop = stop;
    this.#line = stop.line;
  }

  /** Takes the next line into account. True where no further one is needed. */
  isSettledBy(bytes: Buffer): boolean {
    const { before, suspect } = this.#stop;
    this.#line += 1;
    const entry = parseEntry(bytes);
    if (this.#behind === null) {
      if (entry?.previous === suspect.hash) this.#behind = 'follows the suspect';
      else if (entry?.previous === before.head.hash) this.#behind = 'follows the one before';
      else this.#behind = 'neither';
    }
    const expected = before.head.size + 1;
    if (suspect.seq <= expected) return true;
    // An entry that is missing may only stand elsewhere, and the suspect may be a copy.
    if (entry?.seq === expected) this.#missingAt ??= this.#line;
    if (hashOf(bytes) === suspect.hash) this.#isRepeated = true;
    return this.#missingAt !== null && this.#isRepeated;
  }

  /** What happened, as far as what was read tells. */
  verdict(): LogBreak {
    const { line, before, suspect } = this.#stop;
    const { size } = before.head;
    const { seq } = suspect;
    const here = { line, seq, expected: size + 1 };
    const earlier = { line: line - 1, seq: size, expected: size };
    if (seq > size + 1) return { ...here, ...this.#gap() };
    if (seq === size + 1) {
      if (this.#behind === 'follows the one before') return { ...here, ...inserted(seq) };
      if (size === 0) return { ...here, ...edited('Entry 1 is not the beginning of a log.') };
      if (this.#behind === 'neither') {
        return { ...here, ...edited(`Entry ${seq} was changed: neither neighbour fits it.`) };
      }
      const message =
        this.#behind === null
          ? `Entry ${size} was changed, or entry ${seq}, the last, was.`
          : `Entry ${size} was changed: entry ${seq} was appended to another one.`;
      return { ...earlier, ...edited(message) };
    }
    // Two entries claim one place: what stands behind tells which of them was there first.
    const isRival = seq === size && suspect.previous === before.previous && suspect.hash !== before.head.hash;
    const isEarlier = isRival && this.#behind !== 'follows the one before';
    return { ...(isEarlier ? earlier : here), ...inserted(seq) };
  }

  /** Entries are missing before the suspect. */
  #gap(): Pick<LogBreak, 'problem' | 'message'> {
    const { before, suspect } = this.#stop;
    const { seq } = suspect;
    const expected = before.head.size + 1;
    if (this.#missingAt === null) return { problem: 'removed', message: missing(expected, seq) };
    if (this.#isRepeated) return inserted(seq);
    const message = `Entry ${seq} stands where entry ${expected} belongs, which is at line ${this.#missingAt}.`;
    return { problem: 'reordered', message };
  }
}

function edited(message: string): Pick<LogBreak, 'problem' | 'message'> {
  return { problem: 'edited', message };
}

function inserted(seq: number): Pick<LogBreak, 'problem' | 'message'> {
  return { problem: 'inserted', message: `There is a second entry ${seq}.` };
}

function missing(expected: number, seq: number): string {
  const which = seq - expected === 1 ? `Entry ${expected} is` : `Entries ${expected} to ${seq - 1} are`;
  return `${which} missing before entry ${seq}.`;
}
