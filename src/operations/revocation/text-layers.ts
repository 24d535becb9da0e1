import { gunzipSync } from 'node:zlib';

/** The maximum number of nested escapes: an ANSI sequence in JSON in JSON has three. */
const MAX_DEPTH = 4;
/**
 * Words long enough for a value of 30 characters: base64; hexadecimal digits, as auditd writes arguments and
 * PostgreSQL writes bytes; and lists of bytes, as journald, Node.js, Go and network analyzers write them.
 * Without the lookbehind, each letter of a shorter word would start a search.
 */
const WORDS: readonly (readonly [RegExp, (word: string) => Generator<string>])[] = [
  [/(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{40,}/g, fromBase64],
  [
    /(?<![0-9A-Fa-f])(?:(?:0x)?[0-9A-Fa-f]{2}[\s:,-]{0,2}){30,}/g,
    (word) => textsIn(Buffer.from(word.replace(/0x|[^0-9A-Fa-f]/g, ''), 'hex')),
  ],
  [
    /\[\s*(?:\d{1,3}(?:\s*,\s*|\s+)){29,}\d{1,3}\s*\]/g,
    (word) => textsIn(Buffer.from(word.match(/\d+/g)?.map(Number) ?? [])),
  ],
];
/** The maximum number of nested encodings: registry passwords in Kubernetes are base64 within base64. */
const MAX_ENCODINGS = 2;

// biome-ignore-start lint/suspicious/noControlCharactersInRegex: escape sequences consist of them.
/**
 * CSI, OSC and other escape sequences (ECMA-48 §5.4, §5.6), as bytes or text without the escape character.
 */
const ANSI =
  /(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?|\x1b[ -/]*[0-Z\\^-~]|\[(?:\d{1,3}(?:;\d{1,3})*)?[mK]/g;
/** Characters that no terminal or page shows, including between the two bytes of UTF-16. */
const INVISIBLE = /[\0\xad\u200b-\u200f\u2060-\u2064\ufeff]/g;
/** Characters that no text has: from misaligned base64, and other data. */
const UNPRINTABLE = /[\x01-\x06\x0e-\x1a\x1c-\x1f\x7f]/;
// biome-ignore-end lint/suspicious/noControlCharactersInRegex: see above

/**
 * Escapes of JSON, C, shells and others, percent encoding, HTML, and control characters as written by rsyslog
 * (#033) and `cat -v` (^[). The signs are those before two hexadecimal digits.
 */
const escapes = (signs: string) =>
  new RegExp(
    String.raw`[\\%]u([0-9A-Fa-f]{4})|(?:${signs})([0-9A-Fa-f]{2})|(?:\\u\{|&#[xX])([0-9A-Fa-f]{1,6})[};]|\\U00([0-9A-Fa-f]{6})|[\\#]([0-3][0-7]{2})` +
      String.raw`|\\([0-7]{1,2})|&#(\d{1,7});?|\\([^%#=&^])|&(amp|lt|gt|quot|apos|nbsp|AMP|LT|GT|QUOT);?|\^([@-_])`,
    'g',
  );
const ESCAPES = escapes(String.raw`\\x|%`);
/** With quoted-printable (RFC 2045 §6.7). Read in addition: any `=` before a value may look like it. */
const QUOTED_PRINTABLE = escapes(String.raw`\\x|%|=`);
/** With the escapes of LDAP (RFC 4514 §2.4) and RTF. Read in addition: other programs escape letters so. */
const BARE = escapes(String.raw`\\x|%|\\'?`);

const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** Removes one layer of escapes of these kinds. */
function decode(text: string, kinds: RegExp): string {
  return text.replace(kinds, (_, four, two, more, six, octal, short, decimal, letter, name, control) => {
    const hex: string | undefined = four ?? two ?? more ?? six;
    if (hex !== undefined) return character(hex, 16);
    if (octal !== undefined || short !== undefined) return character(octal ?? short, 8);
    if (decimal !== undefined) return character(decimal, 10);
    if (control !== undefined) return String.fromCharCode(control.charCodeAt(0) - 64);
    if (name !== undefined) return NAMED[name.toLowerCase()] ?? ' ';
    // The value of an unknown escape is not part of a token value.
    return letter === 'e' ? '\x1b' : letter.replace(/[A-Za-z]/, ' ');
  });
}

function character(digits: string, radix: number): string {
  const code = Number.parseInt(digits, radix);
  return code <= 0x10ffff ? String.fromCodePoint(code) : ' ';
}

/**
 * The readings of a text: as it is, and without its possible escapes, layer by layer. In each, a letter or
 * digit of an escape is not part of the value after it. Each layer is decoded once for all kinds of escapes,
 * so that the cost does not grow with their number, and only as deep as they are nested.
 */
export function readingsOf(text: string): ReadonlySet<string> {
  const layers = new Set([text]);
  for (const kinds of [ESCAPES, QUOTED_PRINTABLE, BARE]) {
    let layer = text;
    for (let depth = 0; depth < MAX_DEPTH; depth += 1) {
      const visible = layer.replace(INVISIBLE, '');
      layer = decode(visible, kinds);
      if (layer === visible) break;
      layers.add(layer);
    }
  }
  const readings = new Set(layers);
  for (const layer of layers) {
    const visible = layer.replace(INVISIBLE, '');
    // A value with colored parts, and a value directly after a colored word.
    for (const gap of ['', ' ']) readings.add(visible.replace(ANSI, gap));
  }
  return readings;
}

/** The readings of what a text's encoded words contain. */
export function encodedReadings(readings: ReadonlySet<string>): ReadonlySet<string> {
  const found = new Set<string>();
  let texts = readings;
  for (let depth = 0; depth < MAX_ENCODINGS; depth += 1) {
    const decoded = new Set<string>();
    for (const [pattern, decode] of WORDS) {
      const words = new Set<string>();
      for (const text of texts) for (const [word] of text.matchAll(pattern)) words.add(word);
      for (const word of words) for (const text of decode(word)) decoded.add(text);
    }
    for (const text of decoded) found.add(text);
    texts = decoded;
  }
  return found;
}

/** Characters before a word may look like a part of it: each of four offsets is tried. */
function* fromBase64(word: string): Generator<string> {
  for (let start = 0; start < 4; start += 1) yield* textsIn(Buffer.from(word.slice(start), 'base64'));
}

/** The readings of bytes, including UTF-16, as PowerShell encodes it, and gzip, as Helm and cloud-init do. */
function* textsIn(bytes: Buffer): Generator<string> {
  const decoded = (unpacked(bytes) ?? bytes).toString('latin1');
  if (UNPRINTABLE.test(decoded)) yield decoded;
  else yield* readingsOf(decoded);
}

/** The maximum expansion when unpacking: more is not text, and would cost more than its length. */
const MAX_UNPACKED = 40;

/** The content packed by gzip (RFC 1952); null for other bytes, and for truncated data. */
function unpacked(bytes: Buffer): Buffer | null {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return null;
  try {
    return gunzipSync(bytes, { maxOutputLength: MAX_UNPACKED * bytes.length });
  } catch {
    return null;
  }
}

/** Whether a text contains base64, possibly nested, of gzip data that cannot be unpacked. */
export function hidesPacked(text: string): boolean {
  const words = text.match(/(?:H4sI|SDRzSU)[A-Za-z0-9+/_-]{20,}={0,2}/g) ?? [];
  return words.some((word) => {
    const bytes = Buffer.from(word, 'base64');
    return unpacked(word.startsWith('H') ? bytes : Buffer.from(bytes.toString('latin1'), 'base64')) === null;
  });
}
