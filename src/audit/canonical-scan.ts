// A scan of canonical JSON (RFC 8785) in bytes, many times faster than parsing and writing it again. It is
// strict: what it accepts is canonical. It does not know everything that is: texts beyond ASCII, numbers
// that are no plain integers and deep nesting are for the parser.

const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Integers of more digits may not be exact. */
const MOST_DIGITS = 15;

const DEEPEST = 32;

/** 1 for the bytes that stand for themselves in a string: ASCII without controls, quote and backslash. */
const plain = Uint8Array.from({ length: 256 }, (_, byte) =>
  Number(byte >= 0x20 && byte < 0x80 && byte !== QUOTE && byte !== BACKSLASH),
);

/** 1 for what may stand behind a backslash, but for `u`. */
const short = Uint8Array.from({ length: 256 }, (_, byte) =>
  Number('"\\bfnrt'.includes(String.fromCharCode(byte))),
);

const literals = ['true', 'false', 'null'].map((text) => Buffer.from(text));

/** Where a text ends that is expected at an offset; -1 where another stands there. */
export function textEnd(bytes: Uint8Array, at: number, text: Uint8Array): number {
  const { length } = text;
  if (at < 0 || at + length > bytes.length) return -1;
  for (let index = 0; index < length; index += 1) {
    if (bytes[at + index] !== text[index]) return -1;
  }
  return at + length;
}

/** Where the string that begins at an offset ends; -1 where none does. */
export function stringEnd(bytes: Uint8Array, start: number): number {
  if (bytes[start] !== QUOTE) return -1;
  for (let at = start + 1; ; ) {
    while (plain[bytes[at] ?? 0] === 1) at += 1;
    if (bytes[at] === QUOTE) return at + 1;
    if (bytes[at] !== BACKSLASH) return -1;
    if (short[bytes[at + 1] ?? 0] === 1) at += 2;
    else if (isControlEscape(bytes, at)) at += 6;
    else return -1;
  }
}

/** The six characters for a control that has no short escape: `\u0000` to `\u001f`, in lower case. */
function isControlEscape(bytes: Uint8Array, at: number): boolean {
  const text = String.fromCharCode(...bytes.subarray(at, at + 6));
  return /^\\u00(?:0[0-7bef]|1[0-9a-f])$/.test(text);
}

/** Where the plain integer that begins at an offset ends; -1 where none does. */
export function integerEnd(bytes: Uint8Array, start: number): number {
  const first = bytes[start] ?? 0;
  if (first === ZERO) return start + 1;
  if (first < ZERO || first > NINE) return -1;
  let at = start + 1;
  while (isDigit(bytes[at] ?? 0)) at += 1;
  return at - start > MOST_DIGITS ? -1 : at;
}

/** The value of the digits between two offsets. */
export function integerAt(bytes: Uint8Array, start: number, end: number): number {
  let value = 0;
  for (let at = start; at < end; at += 1) value = value * 10 + (bytes[at] ?? 0) - ZERO;
  return value;
}

/** Where the object that begins at an offset ends, whose values are strings; -1 where none does. */
export function wordsEnd(bytes: Uint8Array, start: number): number {
  return objectEnd(bytes, start, 0);
}

/** Where the object that begins at an offset ends; -1 where none does. */
export function recordEnd(bytes: Uint8Array, start: number): number {
  return objectEnd(bytes, start, DEEPEST);
}

/** @param depth How deep values may nest; 0 allows strings only. */
function objectEnd(bytes: Uint8Array, start: number, depth: number): number {
  if (bytes[start] !== OPEN_BRACE) return -1;
  if (bytes[start + 1] === CLOSE_BRACE) return start + 2;
  let key = -1;
  for (let at = start + 1; ; at += 1) {
    const behind = keyEnd(bytes, at);
    if (behind === -1 || bytes[behind] !== COLON) return -1;
    if (key !== -1 && !ascends(bytes, key, at)) return -1;
    key = at;
    at = depth === 0 ? stringEnd(bytes, behind + 1) : valueEnd(bytes, behind + 1, depth - 1);
    if (at === -1) return -1;
    if (bytes[at] === CLOSE_BRACE) return at + 1;
    if (bytes[at] !== COMMA) return -1;
  }
}

function arrayEnd(bytes: Uint8Array, start: number, depth: number): number {
  if (bytes[start + 1] === CLOSE_BRACKET) return start + 2;
  for (let at = start + 1; ; at += 1) {
    at = valueEnd(bytes, at, depth);
    if (at === -1) return -1;
    if (bytes[at] === CLOSE_BRACKET) return at + 1;
    if (bytes[at] !== COMMA) return -1;
  }
}

function valueEnd(bytes: Uint8Array, start: number, depth: number): number {
  const first = bytes[start] ?? 0;
  if (first === QUOTE) return stringEnd(bytes, start);
  if (isDigit(first)) return integerEnd(bytes, start);
  if (first === MINUS) return bytes[start + 1] === ZERO ? -1 : integerEnd(bytes, start + 1);
  if (first === OPEN_BRACE) return depth === 0 ? -1 : objectEnd(bytes, start, depth);
  if (first === OPEN_BRACKET) return depth === 0 ? -1 : arrayEnd(bytes, start, depth - 1);
  for (const literal of literals) {
    const end = textEnd(bytes, start, literal);
    if (end !== -1) return end;
  }
  return -1;
}

/** Keys with escapes are for the parser: their order is not that of their bytes. */
function keyEnd(bytes: Uint8Array, start: number): number {
  if (bytes[start] !== QUOTE) return -1;
  let at = start + 1;
  while (plain[bytes[at] ?? 0] === 1) at += 1;
  return bytes[at] === QUOTE ? at + 1 : -1;
}

/** Whether the key at one offset stands before that at another: in ASCII the order of their bytes. */
function ascends(bytes: Uint8Array, one: number, other: number): boolean {
  for (let index = 1; ; index += 1) {
    const left = bytes[one + index] ?? 0;
    const right = bytes[other + index] ?? 0;
    // A key that ends is the smaller one, though a quote is not smaller than every character.
    if (left === QUOTE) return right !== QUOTE;
    if (right === QUOTE) return false;
    if (left !== right) return left < right;
  }
}

function isDigit(byte: number): boolean {
  return byte >= ZERO && byte <= NINE;
}
