import type { Entry } from '../operations/ports/audit-log.ts';
import { integerAt, integerEnd, recordEnd, stringEnd, wordsEnd } from './canonical-scan.ts';
import { instantEnd } from './instant-scan.ts';
import { ScanText } from './scan-text.ts';

/** What verification needs to know of an entry, and where it ends. */
export type ScannedEntry = Pick<Entry, 'seq' | 'kind' | 'open'> & {
  readonly closes: number | undefined;
  /** The offset of the line feed behind it. */
  readonly end: number;
};

const keys = {
  actor: ScanText.of('{"actor":'),
  at: ScanText.of(',"at":"'),
  closes: ScanText.of(',"closes":'),
  data: ScanText.of(',"data":'),
  operation: ScanText.of('],"operation":'),
  previous: ScanText.of(',"previous":"'),
  run: ScanText.of('","run":'),
  seq: ScanText.of(',"seq":'),
  target: ScanText.of(',"target":'),
  version: ScanText.of(',"v":1}\n'),
};

const kinds = (['intent', 'outcome', 'note'] as const).map((kind) => ({
  kind,
  text: ScanText.of(`,"kind":"${kind}","open":[`),
}));

const ZERO = 0x30;
const COMMA = 0x2c;
const CLOSE_BRACKET = 0x5d;
const EMPTY_STRING = 2;

/**
 * Reads what verification needs from the entries of a log, several times faster than parsing them and
 * writing them again. What is often the same in neighbouring lines is compared with the last one.
 */
export class EntryScanner {
  readonly #actor = new Repeated((bytes, start) => {
    return keys.at.endAt(bytes, wordsEnd(bytes, keys.actor.endAt(bytes, start)));
  });
  readonly #target = new Repeated((bytes, start) => {
    return keys.version.endAt(bytes, wordsEnd(bytes, keys.target.endAt(bytes, start)));
  });

  /**
   * Reads the line that begins at an offset.
   *
   * @param bytes UTF-8 that ends with a line feed.
   * @param previous The hash, in hex, that the entry should carry.
   * @returns Null where the line is no entry in canonical form that carries the hash, or where the scan
   * cannot tell: the parser can.
   */
  scan(bytes: DataView, start: number, previous: ScanText): ScannedEntry | null {
    let at = instantEnd(bytes, this.#actor.endAt(bytes, start));
    let closes: number | undefined;
    const closesAt = keys.closes.endAt(bytes, at);
    if (closesAt !== -1) {
      at = integerEnd(bytes, closesAt);
      closes = integerAt(bytes, closesAt, at);
    }
    at = recordEnd(bytes, keys.data.endAt(bytes, at));
    for (const { kind, text } of kinds) {
      const openAt = text.endAt(bytes, at);
      if (openAt === -1) continue;
      const open: number[] = [];
      at = filledEnd(bytes, keys.operation.endAt(bytes, numbersEnd(bytes, openAt, open)));
      at = previous.endAt(bytes, keys.previous.endAt(bytes, at));
      at = filledEnd(bytes, keys.run.endAt(bytes, at));
      const seqAt = keys.seq.endAt(bytes, at);
      const seqEnd = integerEnd(bytes, seqAt);
      const end = this.#target.endAt(bytes, seqEnd) - 1;
      if (end < 0 || bytes.getUint8(seqAt) === ZERO) return null;
      return { seq: integerAt(bytes, seqAt, seqEnd), kind, closes, open, end };
    }
    return null;
  }
}

/** A stretch of a line that ends by itself, and is often the same as in the line before. */
class Repeated {
  readonly #end: (bytes: DataView, start: number) => number;
  #last: ScanText | null = null;

  /** @param end Where the stretch that begins at an offset ends; -1 where none does. */
  constructor(end: (bytes: DataView, start: number) => number) {
    this.#end = end;
  }

  endAt(bytes: DataView, start: number): number {
    if (start === -1) return -1;
    const same = this.#last === null ? -1 : this.#last.endAt(bytes, start);
    if (same !== -1) return same;
    const end = this.#end(bytes, start);
    if (end !== -1) {
      const stretch = new Uint8Array(bytes.buffer, bytes.byteOffset + start, end - start);
      this.#last = new ScanText(stretch);
    }
    return end;
  }
}

/** A string that says something. */
function filledEnd(bytes: DataView, start: number): number {
  const end = stringEnd(bytes, start);
  return end - start > EMPTY_STRING ? end : -1;
}

/** The numbers of an array whose bracket is before the offset, up to the closing one. */
function numbersEnd(bytes: DataView, start: number, numbers: number[]): number {
  if (bytes.getUint8(start) === CLOSE_BRACKET) return start;
  for (let at = start; ; at += 1) {
    const end = integerEnd(bytes, at);
    if (end === -1) return -1;
    numbers.push(integerAt(bytes, at, end));
    at = end;
    const next = bytes.getUint8(at);
    if (next === CLOSE_BRACKET) return at;
    if (next !== COMMA) return -1;
  }
}
