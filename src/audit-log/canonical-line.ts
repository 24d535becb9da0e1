import { z } from 'zod';
import { type ChainState, openAfter } from './chain.ts';

const DATE = new RegExp(`^${z.regexes.date.source.slice(1, -1)}T$`);
const DATE_LENGTH = '2026-01-01T'.length;
const AFTER_DATE = new RegExp(
  String.raw`^${z.regexes.time({ precision: 3 }).source.slice(1, -1)}Z",(?:"closes":([1-9]\d{0,14}|0),)?"data":`,
);
const MAX_AFTER_DATE = '10:00:00.000Z","closes":123456789012345,"data":'.length;

const ACTOR = bytesOf('{"actor":');
const AT = bytesOf(',"at":"');
const KIND = bytesOf(',"kind":"');
const KINDS = (['intent', 'outcome', 'note'] as const).map((kind) => ({ kind, bytes: bytesOf(kind) }));
const OPEN = bytesOf('","open":[');
const OPERATION = bytesOf('],"operation":');
const PREVIOUS = bytesOf(',"previous":"');
const RUN = bytesOf('","run":');
const SEQ = bytesOf(',"seq":');
const TARGET = bytesOf(',"target":');
const END = bytesOf(',"v":1}');

/** Checks the lines of a log without parsing them, in a fraction of the time. */
export class LineReader {
  // What lines in a row mostly share: all up to the time of day, and all from the target on. No line has a line feed.
  #beginning = '\n';
  #end = '\n';

  /**
   * The open intents after a line of UTF-8 that is surely the next entry of a chain: a valid entry in canonical form (RFC
   * 8785), with the right links. Null for a line that has to be parsed to know.
   */
  openAfterNext(line: Buffer, { head, open }: ChainState): readonly number[] | null {
    const time = this.#dateEnd(line);
    const found = AFTER_DATE.exec(line.toString('latin1', time, time + MAX_AFTER_DATE));
    if (time === NONE || found === null) return null;
    const [{ length }, closed] = found;
    const closes = closed === undefined ? undefined : Number(closed);
    const seq = head.size + 1;
    const kindStart = after(line, objectEnd(line, time + length, VALUES), KIND);
    for (const { kind, bytes } of KINDS) {
      let at = after(line, kindStart, bytes);
      if (at === NONE) continue;
      const openNow = openAfter(open, { kind, seq, closes });
      at = after(line, at, OPEN);
      if (openNow.length > 0) at = afterText(line, at, openNow.join(','));
      at = filledEnd(line, after(line, at, OPERATION));
      at = afterText(line, after(line, at, PREVIOUS), head.hash);
      at = filledEnd(line, after(line, at, RUN));
      at = afterCount(line, after(line, at, SEQ), seq);
      return this.#isEnd(line, at) ? openNow : null;
    }
    return null;
  }

  #dateEnd(line: Buffer): number {
    const known = afterText(line, 0, this.#beginning);
    if (known !== NONE) return known;
    const date = after(line, objectEnd(line, after(line, 0, ACTOR), TEXTS), AT);
    const end = date + DATE_LENGTH;
    if (date === NONE || !DATE.test(line.toString('latin1', date, end))) return NONE;
    this.#beginning = line.toString('latin1', 0, end);
    return end;
  }

  #isEnd(line: Buffer, start: number): boolean {
    if (start === NONE) return false;
    const end = line.toString('latin1', start);
    if (end === this.#end) return true;
    if (after(line, objectEnd(line, after(line, start, TARGET), TEXTS), END) !== line.length) return false;
    this.#end = end;
    return true;
  }
}

// Each function below returns where something ends that begins at a position, or NONE where it is not there in canonical form,
// or perhaps not. No byte is at NONE. Bytes are compared one by one: each call of Node.js takes as long as 50 of them.
const NONE = -1;

const [QUOTE, BACKSLASH, COMMA, COLON, SPACE, DELETE] = [0x22, 0x5c, 0x2c, 0x3a, 0x20, 0x7f];
const [OBJECT, OBJECT_END, LIST, LIST_END] = [0x7b, 0x7d, 0x5b, 0x5d];
const [ZERO, NINE] = [0x30, 0x39];
const ESCAPE = /^\\(?:["\\bfnrt]|u00(?:0[0-7bef]|1[0-9a-f]))/;
const SCALAR = /^(?:(true|false|null)|[-+.\deE]+)/;
/** The lengths of the longest escape and number, and of integers that all readers read as the same number. */
const [MAX_ESCAPE, MAX_NUMBER, EXACT_DIGITS] = [6, 25, 15];

function bytesOf(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text));
}

function after(line: Buffer, start: number, expected: Uint8Array): number {
  const { length } = expected;
  for (let index = 0; index < length; index += 1) {
    if (line[start + index] !== expected[index]) return NONE;
  }
  return start + length;
}

function afterText(line: Buffer, start: number, expected: string): number {
  const end = start + expected.length;
  return start !== NONE && line.toString('latin1', start, end) === expected ? end : NONE;
}

function afterCount(line: Buffer, start: number, expected: number): number {
  const end = digitsEnd(line, start);
  let count = 0;
  for (let at = start; at < end; at += 1) count = count * 10 + (line[at] ?? 0) - ZERO;
  return count === expected ? end : NONE;
}

/** How deep an object is read: of texts, not at all. */
const [TEXTS, VALUES] = [0, 64];

/** The end of a value that is not a text. */
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
    at = textEnd(line, key);
    if (line[at] !== COLON || (last !== NONE && !isBefore(line, last, key))) return NONE;
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

/** Whether a key is surely before another one, in the order of UTF-16 code units. */
function isBefore(line: Buffer, key: number, next: number): boolean {
  let one = key + 1;
  let other = next + 1;
  let unit = line[one] ?? 0;
  while (unit === line[other] && unit !== QUOTE && unit !== BACKSLASH) {
    one += 1;
    other += 1;
    unit = line[one] ?? 0;
  }
  const greater = line[other] ?? 0;
  if (greater === QUOTE || greater === BACKSLASH) return false;
  // Of a backslash, what it stands for is less than all that its own byte is less than.
  return unit === QUOTE || (unit < greater && unit <= DELETE);
}

function textEnd(line: Buffer, start: number): number {
  if (line[start] !== QUOTE) return NONE;
  for (let at = start + 1; ; at += 1) {
    const unit = line[at] ?? 0;
    if (unit > BACKSLASH || (unit > QUOTE && unit < BACKSLASH)) continue;
    if (unit === QUOTE) return at + 1;
    if (unit < SPACE) return NONE;
    if (unit === BACKSLASH) at = escapeEnd(line, at) - 1;
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
