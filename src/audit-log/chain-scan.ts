import { isUtf8 } from 'node:buffer';
import type { Head } from '../operations/ports/audit-log.ts';
import { emptyHead, hashOf } from './chain.ts';
import type { Accepted } from './diagnosis.ts';
import { EntryScanner, type ScannedEntry } from './entry-scan.ts';
import { LINE_FEED } from './lines.ts';
import { ScanText } from './scan-text.ts';

/** A log without entries. */
const beginning: Accepted = { head: emptyHead, open: [], previous: '' };

/** Which lines are accepted. */
export interface AcceptOptions {
  /** The offset of the first one. */
  readonly start: number;
  /** Is given each line that was accepted, without its line feed. */
  readonly each?: (line: Buffer) => void;
}

/**
 * Goes along a chain as fast as it can: it accepts the entries that it can read by a scan and that follow
 * from the ones before. Whatever it stops at is to be looked at more closely.
 */
export class ChainScan {
  readonly #scanner = new EntryScanner();
  readonly #expected = ScanText.of(emptyHead.hash);
  #head: Head;
  #open: readonly number[];
  #previous: string;
  #lines: Buffer | null = null;
  #view: DataView = new DataView(new ArrayBuffer(0));

  /** @param start What the first line is to follow from. */
  constructor({ head, open, previous } = beginning) {
    this.#head = head;
    this.#open = open;
    this.#previous = previous;
  }

  /** Where the chain stands that was accepted. */
  get chain(): Accepted {
    return { head: this.#head, open: this.#open, previous: this.#previous };
  }

  /** Goes on behind a line that was accepted otherwise. */
  set chain({ head, open, previous }: Accepted) {
    this.#head = head;
    this.#open = open;
    this.#previous = previous;
  }

  /**
   * Accepts as many entries as it can.
   *
   * @param lines Lines with their line feeds; the last one may lack it.
   * @returns The offset of the first line that was not accepted: the end where all were.
   */
  accept(lines: Buffer, { start, each }: AcceptOptions): number {
    const bytes = this.#viewOf(lines);
    let at = start;
    while (at < bytes.byteLength) {
      const end = this.#lineEnd(bytes, at);
      if (end === -1) break;
      each?.(lines.subarray(at, end));
      at = end + 1;
    }
    return at;
  }

  /** Accepts the line at an offset, and tells where it ends; -1 where it is not accepted. */
  #lineEnd(bytes: DataView, start: number): number {
    const { size, hash } = this.#head;
    this.#expected.become(hash);
    const entry = this.#scanner.scan(bytes, start, this.#expected);
    if (entry === null || entry.seq !== size + 1 || !isOpenAfter(this.#open, entry)) return -1;
    const line = new Uint8Array(bytes.buffer, bytes.byteOffset + start, entry.end - start);
    this.#head = { size: entry.seq, hash: hashOf(line) };
    this.#open = entry.open;
    this.#previous = hash;
    return entry.end;
  }

  /** The bytes of the whole lines; none where they are not all UTF-8. */
  #viewOf(lines: Buffer): DataView {
    if (lines !== this.#lines) {
      const length = isUtf8(lines) ? lines.lastIndexOf(LINE_FEED) + 1 : 0;
      this.#lines = lines;
      this.#view = new DataView(lines.buffer, lines.byteOffset, length);
    }
    return this.#view;
  }
}

/** Whether an entry lists the open intents as they are after it, which `openAfter` says. */
function isOpenAfter(before: readonly number[], { kind, seq, closes, open }: ScannedEntry): boolean {
  let index = 0;
  for (const each of before) {
    if (each === closes && kind !== 'intent') continue;
    if (open[index] !== each) return false;
    index += 1;
  }
  if (kind !== 'intent') return index === open.length;
  return index === open.length - 1 && open[index] === seq;
}
