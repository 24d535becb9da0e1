/** How often a decoded text is decoded again: an ANSI sequence in JSON in JSON is three. */
const MAX_DEPTH = 4;
/** Words of base64 long enough for a value of 30 characters. Without the lookbehind, each letter of a shorter word begins a search. */
const BASE64_WORDS = /(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{40,}/g;

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
    String.raw`\\u([0-9A-Fa-f]{4})|(?:${signs})([0-9A-Fa-f]{2})|(?:\\u\{|&#[xX])([0-9A-Fa-f]{1,6})[};]|[\\#]([0-3][0-7]{2})` +
      String.raw`|&#(\d{1,7});|\\([^%#=&^])|&(amp|lt|gt|quot|apos|nbsp|AMP|LT|GT|QUOT);?|\^([@-_])`,
    'g',
  );
const ESCAPES = escapes(String.raw`\\x|%`);
/** With quoted-printable (RFC 2045 §6.7). Any `=` before a value may look like it: this is always read in addition. */
const QUOTED_PRINTABLE = escapes(String.raw`\\x|%|=`);

const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** Removes one layer of escapes, whatever their kinds. */
function decode(text: string, kinds: RegExp): string {
  return text.replace(kinds, (_, four, two, more, octal, decimal, letter, name, control) => {
    const hex: string | undefined = four ?? two ?? more;
    if (hex !== undefined) return character(hex, 16);
    if (octal !== undefined) return character(octal, 8);
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
  for (const kinds of [ESCAPES, QUOTED_PRINTABLE]) {
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

/** The words of a text that may be base64 of a value. */
export function base64Words(text: string): readonly string[] {
  return text.match(BASE64_WORDS) ?? [];
}

/**
 * What a word of base64 encodes, decoded once. It may have something before it that looks like a part of it: each beginning of four is
 * tried. UTF-16, which PowerShell encodes, is read as well.
 */
export function* base64Readings(word: string): Generator<string> {
  for (let start = 0; start < 4; start += 1) {
    const decoded = Buffer.from(word.slice(start), 'base64').toString('latin1');
    if (UNPRINTABLE.test(decoded)) yield decoded;
    else yield* readingsOf(decoded);
  }
}
