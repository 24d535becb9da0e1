import { z } from 'zod';
import { type ChainState, openAfter } from './chain.ts';

const DATE = new RegExp(`^${z.regexes.date.source.slice(1, -1)}T$`);
const DATE_LENGTH = '2026-01-01T'.length;
const ACTOR = known('{"actor":');
const DATA = known('Z","data":');
const CLOSES = known('Z","closes":');
const DATA_NEXT = known(',"data":');
const KINDS = (['intent', 'outcome', 'note'] as const).map((kind) => ({
  kind,
  part: known(`,"kind":"${kind}","open":[`),
}));
const OPERATION = known('],"operation":');
const PREVIOUS = known(',"previous":"');
const RUN = known('","run":');
const SEQ = known(',"seq":');
const TARGET = known(',"target":');
const AT = known(',"at":"');
const END = known(',"v":1}');
const HASH_LENGTH = 64;

/** How many bytes are compared at once. Each known part has more. */
const WORD = 4;

/** Checks the lines of a log without parsing them, in a fraction of the time. */
export class LineReader {
  // What consecutive lines mostly share: everything up to the time of day, and everything from the target on.
  #beginning: DataView | null = null;
  #end: DataView | null = null;
  /** The memory that contains consecutive lines. */
  #view: DataView = new DataView(new ArrayBuffer(0));
  readonly #hash = Buffer.alloc(HASH_LENGTH);
  readonly #hashView = new DataView(this.#hash.buffer, this.#hash.byteOffset, HASH_LENGTH);

  /**
   * The open intents after a UTF-8 line that is certainly the next entry of a chain: a valid entry in
   * canonical form (RFC 8785), with the right links. Null for a line that must be parsed.
   */
  openAfterNext(line: Buffer, { head, open }: ChainState): readonly number[] | null {
    if (this.#view.buffer !== line.buffer) this.#view = new DataView(line.buffer);
    const time = timeEnd(line, this.#dateEnd(line));
    let dataStart = this.#after(line, time, DATA);
    let closes: number | undefined;
    if (dataStart === NONE) {
      const closed = this.#after(line, time, CLOSES);
      const end = digitsEnd(line, closed);
      closes = countIn(line, closed, end);
      dataStart = this.#after(line, end, DATA_NEXT);
    }
    const seq = head.size + 1;
    const kindStart = objectEnd(line, dataStart, VALUES);
    for (const { kind, part } of KINDS) {
      let at = this.#after(line, kindStart, part);
      if (at === NONE) continue;
      const openNow = openAfter(open, { kind, seq, closes });
      if (openNow.length > 0) at = afterText(line, at, openNow.join(','));
      at = filledEnd(line, this.#after(line, at, OPERATION));
      if (this.#hash.write(head.hash, 'latin1') !== HASH_LENGTH) return null;
      at = this.#after(line, this.#after(line, at, PREVIOUS), this.#hashView);
      at = filledEnd(line, this.#after(line, at, RUN));
      at = afterCount(line, this.#after(line, at, SEQ), seq);
      return this.#isEnd(line, at) ? openNow : null;
    }
    return null;
  }

  #dateEnd(line: Buffer): number {
    const beginning = this.#beginning;
    if (beginning !== null) {
      const end = this.#after(line, 0, beginning);
      if (end !== NONE) return end;
    }
    const date = this.#after(line, objectEnd(line, this.#after(line, 0, ACTOR), TEXTS), AT);
    const end = date + DATE_LENGTH;
    if (date === NONE || !DATE.test(line.toString('latin1', date, end))) return NONE;
    this.#beginning = viewOf(line.subarray(0, end));
    return end;
  }

  #isEnd(line: Buffer, start: number): boolean {
    if (start === NONE) return false;
    const end = this.#end;
    if (end !== null && this.#after(line, start, end) === line.length) return true;
    if (this.#after(line, objectEnd(line, this.#after(line, start, TARGET), TEXTS), END) !== line.length)
      return false;
    this.#end = viewOf(line.subarray(start));
    return true;
  }

  #after(line: Buffer, start: number, expected: DataView): number {
    const { byteLength } = expected;
    const end = start + byteLength;
    if (start === NONE || end > line.length) return NONE;
    const view = this.#view;
    const from = line.byteOffset + start;
    const last = byteLength - WORD;
    for (let at = 0; at < last; at += WORD) {
      if (view.getInt32(from + at) !== expected.getInt32(at)) return NONE;
    }
    return view.getInt32(from + last) === expected.getInt32(last) ? end : NONE;
  }
}

/** A known part of a line. */
function known(text: string): DataView {
  return viewOf(Buffer.from(text));
}

/** A copy. */
function viewOf(bytes: Uint8Array): DataView {
  return new DataView(Uint8Array.from(bytes).buffer);
}

// Each function below returns where an element that starts at a position ends, or NONE if it is missing or
// possibly not in canonical form. There is no byte at NONE. Bytes are compared one by one: each call of
// Node.js takes as long as 50 of them.
const NONE = -1;

const [QUOTE, BACKSLASH, COMMA, COLON, SPACE, DELETE] = [0x22, 0x5c, 0x2c, 0x3a, 0x20, 0x7f];
const [OBJECT, OBJECT_END, LIST, LIST_END] = [0x7b, 0x7d, 0x5b, 0x5d];
const [DOT, ZERO, NINE] = [0x2e, 0x30, 0x39];
const TIME_LENGTH = '23:59:59.999'.length;
const ESCAPE = /^\\(?:["\\bfnrt]|u00(?:0[0-7bef]|1[0-9a-f]))/;
const SCALAR = /^(?:(true|false|null)|[-+.\deE]+)/;
/** The lengths of the longest escape and number, and of integers that all readers parse to the same number. */
const [MAX_ESCAPE, MAX_NUMBER, EXACT_DIGITS] = [6, 25, 15];

function afterText(line: Buffer, start: number, expected: string): number {
  const { length } = expected;
  for (let index = 0; index < length; index += 1) {
    if (line[start + index] !== expected.charCodeAt(index)) return NONE;
  }
  return start + length;
}

function afterCount(line: Buffer, start: number, expected: number): number {
  const end = digitsEnd(line, start);
  return end !== NONE && countIn(line, start, end) === expected ? end : NONE;
}

function countIn(line: Buffer, start: number, end: number): number {
  let count = 0;
  for (let at = start; at < end; at += 1) count = count * 10 + (line[at] ?? 0) - ZERO;
  return count;
}

/** The end of a time of day with milliseconds, such as `23:59:59.999`. */
function timeEnd(line: Buffer, start: number): number {
  const isTime =
    isBelow(line, start, 24) &&
    line[start + 2] === COLON &&
    isBelow(line, start + 3, 60) &&
    line[start + 5] === COLON &&
    isBelow(line, start + 6, 60) &&
    line[start + 8] === DOT &&
    isBelow(line, start + 9, 100) &&
    isDigit(line[start + 11]);
  return isTime ? start + TIME_LENGTH : NONE;
}

/** Whether there is a number of two digits below a limit. */
function isBelow(line: Buffer, start: number, limit: number): boolean {
  const tens = line[start];
  const ones = line[start + 1];
  return isDigit(tens) && isDigit(ones) && tens * 10 + ones - ZERO * 11 < limit;
}

function isDigit(unit: number | undefined): unit is number {
  return unit !== undefined && unit >= ZERO && unit <= NINE;
}

/** The parsing depth of an object; for texts, none. */
const [TEXTS, VALUES] = [0, 64];

/** The end of a value other than a text. */
function otherEnd(line: Buffer, start: number, depth: number): number {
  const first = line[start];
  if (depth === TEXTS) return NONE;
  if (first === OBJECT) return objectEnd(line, start, depth - 1);
  return first === LIST ? listEnd(line, start, depth - 1) : scalarEnd(line, start);
}

function objectEnd(line: Buffer, start: number, depth: number): number {
  if (line[start] !== OBJECT) return NONE;
  if (line[start + 1] === OBJECT_END) return start + 2;
  let last = NONE;
  let at = start;
  do {
    const key = at + 1;
    at = last === NONE ? textEnd(line, key) : keyEnd(line, key, last);
    if (line[at] !== COLON) return NONE;
    last = key;
    at += 1;
    at = line[at] === QUOTE ? textEnd(line, at) : otherEnd(line, at, depth);
  } while (line[at] === COMMA);
  return line[at] === OBJECT_END ? at + 1 : NONE;
}

function listEnd(line: Buffer, start: number, depth: number): number {
  if (line[start + 1] === LIST_END) return start + 2;
  let at = start;
  do {
    at += 1;
    at = line[at] === QUOTE ? textEnd(line, at) : otherEnd(line, at, depth);
  } while (line[at] === COMMA);
  return line[at] === LIST_END ? at + 1 : NONE;
}

/** The end of a key that follows another in UTF-16 order. The first key is compared with its opening quote. */
function keyEnd(line: Buffer, start: number, last: number): number {
  if (line[start] !== QUOTE) return NONE;
  let before = last + 1;
  let at = start + 1;
  let unit = line[at] ?? 0;
  while (unit === line[before] && IS_PLAIN[unit] === 1) {
    before += 1;
    at += 1;
    unit = line[at] ?? 0;
  }
  const less = line[before] ?? 0;
  if (unit === QUOTE || unit === BACKSLASH) return NONE;
  // The character of an escape is below everything that the backslash itself is below.
  if (less !== QUOTE && (less >= unit || less > DELETE)) return NONE;
  return restEnd(line, at);
}

/** For each byte, whether it represents itself in a text. */
const IS_PLAIN = Uint8Array.from({ length: 256 }, (_, unit) =>
  Number(unit >= SPACE && unit !== QUOTE && unit !== BACKSLASH),
);

function textEnd(line: Buffer, start: number): number {
  return line[start] === QUOTE ? restEnd(line, start + 1) : NONE;
}

function restEnd(line: Buffer, start: number): number {
  for (let at = start; ; at += 1) {
    const unit = line[at] ?? 0;
    if (unit > QUOTE && unit !== BACKSLASH) continue;
    if (unit === QUOTE) return at + 1;
    if (unit >= SPACE && unit !== BACKSLASH) continue;
    if (unit === BACKSLASH) at = escapeEnd(line, at) - 1;
    else return NONE;
    if (at < 0) return NONE;
  }
}

function filledEnd(line: Buffer, start: number): number {
  return line[start + 1] === QUOTE ? NONE : textEnd(line, start);
}

function escapeEnd(line: Buffer, start: number): number {
  const found = ESCAPE.exec(line.toString('latin1', start, start + MAX_ESCAPE));
  return found === null ? NONE : start + found[0].length;
}

/** The end of a number, `true`, `false` or `null`. */
function scalarEnd(line: Buffer, start: number): number {
  const end = digitsEnd(line, start);
  const next = line[end];
  if (next === COMMA || next === LIST_END || next === OBJECT_END) return end;
  const found = SCALAR.exec(line.toString('latin1', start, start + MAX_NUMBER));
  if (found === null) return NONE;
  const [text, word] = found;
  return word !== undefined || String(Number(text)) === text ? start + text.length : NONE;
}

function digitsEnd(line: Buffer, start: number): number {
  if (line[start] === ZERO) return start + 1;
  let at = start;
  for (let digit = line[at] ?? 0; digit >= ZERO && digit <= NINE; digit = line[at] ?? 0) at += 1;
  return at > start && at - start <= EXACT_DIGITS ? at : NONE;
}
