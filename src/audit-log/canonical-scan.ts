// A scan of canonical JSON (RFC 8785) in bytes, many times faster than parsing and writing it again. It is
// strict: what it accepts is canonical, provided that the bytes are UTF-8. It does not know everything that
// is: keys beyond ASCII or with escapes, numbers that are no plain integers and deep nesting are for the parser.
//
// A line feed ends whatever is scanned, so that only a text without one behind it is left at its end. All
// functions therefore take bytes that end with a line feed, and an offset in them or -1 for nowhere.

import { ScanText } from './scan-text.ts';

const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const SMALL_U = 0x75;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Integers of more digits may not be exact. */
const MOST_DIGITS = 15;

const DEEPEST = 32;

/** 1 for the bytes that stand for themselves in a string: all but controls, quote and backslash. */
const plain = bytesWith((byte) => byte >= 0x20 && byte !== QUOTE && byte !== BACKSLASH);

/** 1 for those of them that are ASCII. */
const plainInKey = bytesWith((byte) => plain[byte] === 1 && byte < 0x80);

/** 1 for what may stand behind a backslash, but for `u`. */
const short = bytesWith((byte) => '"\\bfnrt'.includes(String.fromCharCode(byte)));

/** 1 for the last digit of `\u000x`, and of `\u001x`, where a control has no short escape. */
const lowControl = bytesWith((byte) => '01234567bef'.includes(String.fromCharCode(byte)));
const highControl = bytesWith((byte) => '0123456789abcdef'.includes(String.fromCharCode(byte)));

function bytesWith(isMeant: (byte: number) => boolean): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, byte) => Number(isMeant(byte)));
}

const literals = ['true', 'false', 'null'].map(ScanText.of);
const controlEscape = ScanText.of('\\u00');

/** Where the string that begins at an offset ends; -1 where none does. */
export function stringEnd(bytes: DataView, start: number): number {
  if (start === -1 || bytes.getUint8(start) !== QUOTE) return -1;
  for (let at = start + 1; ; ) {
    while (plain[bytes.getUint8(at)] === 1) at += 1;
    const found = bytes.getUint8(at);
    if (found === QUOTE) return at + 1;
    if (found !== BACKSLASH) return -1;
    at = escapeEnd(bytes, at);
    if (at === -1) return -1;
  }
}

/** Where the escape at a backslash ends: of the shortest form, and in lower case. */
function escapeEnd(bytes: DataView, start: number): number {
  const behind = bytes.getUint8(start + 1);
  if (short[behind] === 1) return start + 2;
  const digits = behind === SMALL_U ? controlEscape.endAt(bytes, start) : -1;
  if (digits === -1) return -1;
  const high = bytes.getUint8(digits) - ZERO;
  if (high !== 0 && high !== 1) return -1;
  const last = high === 0 ? lowControl : highControl;
  return last[bytes.getUint8(digits + 1)] === 1 ? digits + 2 : -1;
}

/** Where the plain integer that begins at an offset ends; -1 where none does. */
export function integerEnd(bytes: DataView, start: number): number {
  if (start === -1) return -1;
  const first = bytes.getUint8(start);
  if (first === ZERO) return start + 1;
  if (!isDigit(first)) return -1;
  let at = start + 1;
  while (isDigit(bytes.getUint8(at))) at += 1;
  return at - start > MOST_DIGITS ? -1 : at;
}

/** The value of the digits between two offsets. */
export function integerAt(bytes: DataView, start: number, end: number): number {
  let value = 0;
  for (let at = start; at < end; at += 1) value = value * 10 + bytes.getUint8(at) - ZERO;
  return value;
}

/** Where the object that begins at an offset ends, whose values are strings; -1 where none does. */
export function wordsEnd(bytes: DataView, start: number): number {
  return start === -1 ? -1 : objectEnd(bytes, start, 0);
}

/** Where the object that begins at an offset ends; -1 where none does. */
export function recordEnd(bytes: DataView, start: number): number {
  return start === -1 ? -1 : objectEnd(bytes, start, DEEPEST);
}

/** @param depth How deep values may nest; 0 allows strings only. */
function objectEnd(bytes: DataView, start: number, depth: number): number {
  if (bytes.getUint8(start) !== OPEN_BRACE) return -1;
  if (bytes.getUint8(start + 1) === CLOSE_BRACE) return start + 2;
  let key = -1;
  for (let at = start + 1; ; at += 1) {
    const behind = keyEnd(bytes, at);
    if (behind === -1 || bytes.getUint8(behind) !== COLON) return -1;
    if (key !== -1 && !ascends(bytes, key, at)) return -1;
    key = at;
    at = depth === 0 ? stringEnd(bytes, behind + 1) : valueEnd(bytes, behind + 1, depth - 1);
    if (at === -1) return -1;
    const next = bytes.getUint8(at);
    if (next === CLOSE_BRACE) return at + 1;
    if (next !== COMMA) return -1;
  }
}

/** Long arrays are of integers, whose digits are passed here: a call for each would take as long again. */
function arrayEnd(bytes: DataView, start: number, depth: number): number {
  if (bytes.getUint8(start + 1) === CLOSE_BRACKET) return start + 2;
  for (let at = start + 1; ; at += 1) {
    const begin = at;
    let next = bytes.getUint8(at);
    while (isDigit(next)) {
      at += 1;
      next = bytes.getUint8(at);
    }
    const digits = at - begin;
    if (digits === 0 || digits > MOST_DIGITS || bytes.getUint8(begin) === ZERO) {
      at = valueEnd(bytes, begin, depth);
      if (at === -1) return -1;
      next = bytes.getUint8(at);
    }
    if (next === CLOSE_BRACKET) return at + 1;
    if (next !== COMMA) return -1;
  }
}

function valueEnd(bytes: DataView, start: number, depth: number): number {
  const first = bytes.getUint8(start);
  if (isDigit(first)) return integerEnd(bytes, start);
  if (first === QUOTE) return stringEnd(bytes, start);
  if (first === OPEN_BRACE) return depth === 0 ? -1 : objectEnd(bytes, start, depth);
  if (first === OPEN_BRACKET) return depth === 0 ? -1 : arrayEnd(bytes, start, depth - 1);
  if (first === MINUS) return bytes.getUint8(start + 1) === ZERO ? -1 : integerEnd(bytes, start + 1);
  for (const literal of literals) {
    const end = literal.endAt(bytes, start);
    if (end !== -1) return end;
  }
  return -1;
}

/** Keys with escapes or beyond ASCII are for the parser: their order is not that of their bytes. */
function keyEnd(bytes: DataView, start: number): number {
  if (bytes.getUint8(start) !== QUOTE) return -1;
  let at = start + 1;
  while (plainInKey[bytes.getUint8(at)] === 1) at += 1;
  return bytes.getUint8(at) === QUOTE ? at + 1 : -1;
}

/** Whether the key at one offset stands before that at another: in ASCII the order of their bytes. */
function ascends(bytes: DataView, one: number, other: number): boolean {
  for (let index = 1; ; index += 1) {
    const left = bytes.getUint8(one + index);
    const right = bytes.getUint8(other + index);
    // A key that ends is the smaller one, though a quote is not smaller than every character.
    if (left === QUOTE) return right !== QUOTE;
    if (right === QUOTE) return false;
    if (left !== right) return left < right;
  }
}

/** Whether a byte is one of the ten digits. */
export function isDigit(byte: number): boolean {
  return byte >= ZERO && byte <= NINE;
}
