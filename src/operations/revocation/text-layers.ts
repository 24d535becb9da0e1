/** How often a decoded text is decoded again: an ANSI sequence in JSON in JSON is three. */
const MAX_DEPTH = 4;
/** The most readings of one text. */
const MAX_LAYERS = 40;
/** The least length of a word of base64 that can hold a value of 30 characters. */
const BASE64_WORDS = /[A-Za-z0-9+/_-]{40,}/g;

/** One way in which a text may be encoded: whether it may be, and the text behind it. */
interface Encoding {
  readonly sign: RegExp;
  decode(text: string): readonly string[];
}

// biome-ignore-start lint/suspicious/noControlCharactersInRegex: escape sequences consist of them.
/** CSI and OSC sequences and other escapes (ECMA-48 §5.4, §5.6), as bytes; and as text where the escape character is lost. */
const ANSI =
  /(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?|\x1b[ -/]*[0-Z\\^-~]|\[(?:\d{1,3}(?:;\d{1,3})*)?[mK]/g;
/** What no terminal or page shows, also between the two bytes of UTF-16. */
const INVISIBLE = /[\0\xad\u200b-\u200f\u2060-\u2064\ufeff]/g;
/** What no text has: a wrong beginning of base64, and other data. */
const UNPRINTABLE = /[\x01-\x06\x0e-\x1a\x1c-\x1f\x7f]/;
// biome-ignore-end lint/suspicious/noControlCharactersInRegex: see above

const NAMED: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
};

const ENCODINGS: readonly Encoding[] = [
  {
    // A value that is colored in parts, and one directly behind a colored word.
    sign: ANSI,
    decode: (text) => [text.replace(ANSI, ''), text.replace(ANSI, ' ')],
  },
  { sign: INVISIBLE, decode: (text) => [text.replace(INVISIBLE, ''), text.replace(INVISIBLE, ' ')] },
  {
    // Of JSON, C, shells and others. What an unknown escape stands for is no part of a value.
    sign: /\\/,
    decode: (text) => [
      text
        .replace(/\\u([0-9a-f]{4})|\\u\{([0-9a-f]{1,6})\}|\\x([0-9a-f]{2})/gi, (_, four, braced, two) =>
          character(four ?? braced ?? two, 16),
        )
        .replace(/\\([0-3][0-7]{2})/g, (_, octal) => character(octal, 8))
        .replace(/\\e/g, '\x1b')
        .replace(/\\[A-Za-z]/g, ' ')
        .replace(/\\(.)/g, '$1'),
    ],
  },
  {
    sign: /%[0-9a-f]{2}/i,
    decode: (text) => [text.replace(/%([0-9a-f]{2})/gi, (_, hex) => character(hex, 16))],
  },
  {
    // Quoted-printable (RFC 2045 §6.7).
    sign: /=[0-9a-f]{2}/i,
    decode: (text) => [text.replace(/=([0-9a-f]{2})/gi, (_, hex) => character(hex, 16))],
  },
  {
    sign: /&#?\w+/,
    decode: (text) => [
      text
        .replace(/&#x([0-9a-f]{1,6});/gi, (_, hex) => character(hex, 16))
        .replace(/&#(\d{1,7});/g, (_, decimal) => character(decimal, 10))
        .replace(/&(amp|lt|gt|quot|apos|nbsp);?/gi, (_, name: string) => NAMED[name.toLowerCase()] ?? ' '),
    ],
  },
  {
    // Control characters as rsyslog (#033) and `cat -v` (^[) write them.
    sign: /#[0-3][0-7]{2}|\^[@-_]/,
    decode: (text) => [
      text
        .replace(/#([0-3][0-7]{2})/g, (_, octal) => character(octal, 8))
        .replace(/\^([@-_])/g, (_, letter: string) => String.fromCharCode(letter.charCodeAt(0) - 64)),
    ],
  },
];

function character(digits: string, radix: number): string {
  const code = Number.parseInt(digits, radix);
  return code <= 0x10ffff ? String.fromCodePoint(code) : ' ';
}

/**
 * The readings of a text: as it is, and without the escapes that it may have, also several kinds in each other. In each of them a letter
 * or digit of an escape is no part of the value behind it. Bounded in depth and number.
 */
export function readingsOf(text: string): readonly string[] {
  const readings = new Set([text]);
  let latest: readonly string[] = [text];
  for (let depth = 0; depth < MAX_DEPTH && latest.length > 0; depth += 1) {
    const before = readings.size;
    for (const each of latest) {
      for (const { sign, decode } of ENCODINGS) {
        if (readings.size >= MAX_LAYERS) break;
        if (each.search(sign) === -1) continue;
        for (const decoded of decode(each)) readings.add(decoded);
      }
    }
    latest = [...readings].slice(before);
  }
  return [...readings];
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
