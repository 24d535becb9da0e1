import { gunzipSync } from 'node:zlib';

/** How often a decoded text is decoded again: an ANSI sequence in JSON in JSON is three. */
const MAX_DEPTH = 4;
/**
 * Words long enough for a value of 30 characters: of base64; of hexadecimal digits, as auditd writes arguments and PostgreSQL bytes;
 * and lists of bytes, as journald, Node.js, Go and network analyzers write them. Without the lookbehind, each letter of a shorter word begins a search.
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
/** How often an encoded word is decoded: passwords of registries in Kubernetes are base64 within base64. */
const MAX_ENCODINGS = 2;

// biome-ignore-start lint/suspicious/noControlCharactersInRegex: escape sequences consist of them.
/** CSI and OSC sequences and other escapes (ECMA-48 §5.4, §5.6), as bytes; and as text where the escape character is lost. */
const ANSI =
  /(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?|\x1b[ -/]*[0-Z\\^-~]|\[(?:\d{1,3}(?:;\d{1,3})*)?[mK]/g;
/** What no terminal or page shows, also between the two bytes of UTF-16. */
const INVISIBLE = /[\0\xad\u200b-\u200f\u2060-\u2064\ufeff]/g;
/** What no text has: a wrong beginning of base64, and other data. */
const UNPRINTABLE = /[\x01-\x06\x0e-\x1a\x1c-\x1f\x7f]/;
// biome-ignore-end lint/suspicious/noControlCharactersInRegex: see above

/**
 * Escapes of JSON, C, shells and others, percent encoding, HTML, and control characters as rsyslog (#033) and `cat -v` (^[) write
 * them. The signs are those before two hexadecimal digits.
 */
const escapes = (signs: string) =>
  new RegExp(
    String.raw`[\\%]u([0-9A-Fa-f]{4})|(?:${signs})([0-9A-Fa-f]{2})|(?:\\u\{|&#[xX])([0-9A-Fa-f]{1,6})[};]|\\U00([0-9A-Fa-f]{6})|[\\#]([0-3][0-7]{2})` +
      String.raw`|\\([0-7]{1,2})|&#(\d{1,7});?|\\([^%#=&^])|&(amp|lt|gt|quot|apos|nbsp|AMP|LT|GT|QUOT);?|\^([@-_])`,
    'g',
  );
const ESCAPES = escapes(String.raw`\\x|%`);
/** With quoted-printable (RFC 2045 §6.7). Any `=` before a value may look like it: this is always read in addition. */
const QUOTED_PRINTABLE = escapes(String.raw`\\x|%|=`);
/** With those of LDAP (RFC 4514 §2.4) and RTF, also in addition: other programs escape letters so. */
const BARE = escapes(String.raw`\\x|%|\\'?`);

const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** Removes one layer of escapes, whatever their kinds. */
function decode(text: string, kinds: RegExp): string {
  return text.replace(kinds, (_, four, two, more, six, octal, short, decimal, letter, name, control) => {
    const hex: string | undefined = four ?? two ?? more ?? six;
    if (hex !== undefined) return character(hex, 16);
    if (octal !== undefined || short !== undefined) return character(octal ?? short, 8);
    if (decimal !== undefined) return character(decimal, 10);
    if (control !== undefined) return String.fromCharCode(control.charCodeAt(0) - 64);
    if (name !== undefined) return NAMED[name.toLowerCase()] ?? ' ';
    // What an unknown escape stands for is no part of a value.
    return letter === 'e' ? '\x1b' : letter.replace(/[A-Za-z]/, ' ');
  });
}

function character(digits: string, radix: number): string {
  const code = Number.parseInt(digits, radix);
  return code <= 0x10ffff ? String.fromCodePoint(code) : ' ';
}

/**
 * The readings of a text: as it is, and without the escapes that it may have, layer by layer. In each of them a letter or digit of an
 * escape is no part of the value behind it. Each layer is decoded once for all kinds of escapes, so that the cost does not grow
 * with their number, and only as deep as they are.
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
    // A value that is colored in parts, and one directly behind a colored word.
    for (const gap of ['', ' ']) readings.add(visible.replace(ANSI, gap));
  }
  return readings;
}

/** What the encoded words of a text, in each of its readings, encode, in its readings. */
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

/** Something before a word may look like a part of it: each beginning of four is tried. */
function* fromBase64(word: string): Generator<string> {
  for (let start = 0; start < 4; start += 1) yield* textsIn(Buffer.from(word.slice(start), 'base64'));
}

/** The readings of bytes, also where they are UTF-16, which PowerShell encodes, or gzip, as Helm and cloud-init store them. */
function* textsIn(bytes: Buffer): Generator<string> {
  const decoded = (unpacked(bytes) ?? bytes).toString('latin1');
  if (UNPRINTABLE.test(decoded)) yield decoded;
  else yield* readingsOf(decoded);
}

/** To how many times its length a text is unpacked: more is no text, and would cost more than its length. */
const MAX_UNPACKED = 40;

/** What gzip (RFC 1952) packed; null for other bytes, and for a part. */
function unpacked(bytes: Buffer): Buffer | null {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return null;
  try {
    return gunzipSync(bytes, { maxOutputLength: MAX_UNPACKED * bytes.length });
  } catch {
    return null;
  }
}

/** Whether a text has base64, perhaps within base64, of what gzip packed and that cannot be unpacked. */
export function hidesPacked(text: string): boolean {
  const words = text.match(/(?:H4sI|SDRzSU)[A-Za-z0-9+/_-]{20,}={0,2}/g) ?? [];
  return words.some((word) => {
    const bytes = Buffer.from(word, 'base64');
    return unpacked(word.startsWith('H') ? bytes : Buffer.from(bytes.toString('latin1'), 'base64')) === null;
  });
}
