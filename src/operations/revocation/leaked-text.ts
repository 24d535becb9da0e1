import { TokenctlError } from '@tokenctl/common/errors.ts';

/** A line, or a piece of a long one. */
export interface Piece {
  readonly text: string;
  /** The line number, counted from 1. */
  readonly line: number;
  /** The end of the piece before it, if both are from one line: a value may span both. */
  readonly before: string;
}

/**
 * The maximum line length, in characters. Longer lines are searched in pieces, to keep decoded strings small.
 */
const MAX_LINE = 64 * 1024;
/** The maximum length of a token value in any encoding, in characters. */
const MAX_VALUE = 1200;
/** How much of the previous lines belongs to a value that continues in a line, in characters. */
const MAX_TAIL = 400;
/** How many bytes at the start show the type of an input. */
const HEAD = 8192;

/** Packed formats, by their magic bytes (and offset), with the tool that unpacks them. */
const PACKED: readonly {
  readonly name: string;
  readonly bytes: string;
  readonly hint: string;
  readonly at?: number;
}[] = [
  { name: 'compressed with gzip', bytes: '1f8b', hint: 'gzip -dc' },
  { name: 'compressed with bzip2', bytes: '425a68', hint: 'bzip2 -dc' },
  { name: 'compressed with xz', bytes: 'fd377a585a00', hint: 'xz -dc' },
  { name: 'compressed with zstd', bytes: '28b52ffd', hint: 'zstd -dc' },
  { name: 'compressed with lz4', bytes: '04224d18', hint: 'lz4 -dc' },
  { name: 'a ZIP archive', bytes: '504b0304', hint: 'unzip -p' },
  { name: 'a 7z archive', bytes: '377abcaf271c', hint: '7z e -so' },
  { name: 'a PDF document', bytes: '25504446', hint: 'pdftotext' },
  { name: 'a tar archive', bytes: '7573746172', at: 257, hint: 'tar -xOf' },
  { name: 'a Git pack', bytes: '5041434b', hint: 'git log -p --all' },
  { name: 'UTF-32', bytes: 'fffe0000', hint: 'iconv -f UTF-32 -t UTF-8' },
  { name: 'UTF-32', bytes: '0000feff', hint: 'iconv -f UTF-32 -t UTF-8' },
];

/**
 * Decodes UTF-8, or UTF-16 with or without a byte order mark, as written by Windows shells.
 * @throws TokenctlError `usage` for a packed or binary input: it would look like a text without values.
 */
export async function* textOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let head: Buffer | null = Buffer.alloc(0);
  let decoder = new TextDecoder();
  for await (const chunk of chunks) {
    if (head === null) {
      yield decoder.decode(chunk, { stream: true });
      continue;
    }
    head = Buffer.concat([head, chunk]);
    if (head.length < HEAD) continue;
    decoder = decoderOf(head);
    yield decoder.decode(head, { stream: true });
    head = null;
  }
  if (head !== null) {
    decoder = decoderOf(head);
    yield decoder.decode(head, { stream: true });
  }
  yield decoder.decode();
}

function decoderOf(head: Buffer): TextDecoder {
  const packed = PACKED.find(
    ({ bytes, at = 0 }) => head.toString('hex', at, at + bytes.length / 2) === bytes,
  );
  if (packed !== undefined) {
    throw new TokenctlError('usage', `The input is ${packed.name}: values in it cannot be found`, {
      hint: `Unpack it first, for example \`${packed.hint} FILE | tokenctl tokens find --leaked -\`.`,
    });
  }
  if (head[0] === 0xff && head[1] === 0xfe) return new TextDecoder('utf-16le');
  if (head[0] === 0xfe && head[1] === 0xff) return new TextDecoder('utf-16be');
  // ASCII in UTF-16 has a zero in every second byte.
  const zeros = [0, 0];
  for (let at = 0; at < Math.min(head.length, HEAD); at += 1)
    if (head[at] === 0) zeros[at % 2] = (zeros[at % 2] ?? 0) + 1;
  const [even = 0, odd = 0] = zeros;
  if (even > 0 && odd > 0) {
    throw new TokenctlError('usage', 'The input is binary data: values in it cannot be found', {
      hint: 'Unpack or export it, and use the text.',
    });
  }
  if (even + odd < Math.min(head.length, HEAD) / 4) return new TextDecoder();
  return new TextDecoder(odd > 0 ? 'utf-16le' : 'utf-16be');
}

/** Splits a text into lines with their line feeds, and long lines into pieces, preferably between values. */
export async function* piecesOf(texts: AsyncIterable<string>): AsyncGenerator<Piece> {
  let rest = '';
  let line = 1;
  let before = '';
  for await (const text of texts) {
    rest += text;
    let start = 0;
    for (let end = rest.indexOf('\n'); end !== -1; end = rest.indexOf('\n', start)) {
      yield { text: rest.slice(start, end + 1), line, before };
      line += 1;
      before = '';
      start = end + 1;
    }
    rest = rest.slice(start);
    if (rest.length > MAX_LINE) {
      const tail = /[A-Za-z0-9\-._~+/=]*$/.exec(rest.slice(-MAX_VALUE))?.[0].length ?? 0;
      const cut = tail === MAX_VALUE ? rest.length : rest.length - tail;
      yield { text: rest.slice(0, cut), line, before };
      before = rest.slice(Math.max(0, cut - MAX_VALUE), cut);
      rest = rest.slice(cut);
    }
  }
  if (rest !== '') yield { text: rest, line, before };
}

/** A line that is only base64, possibly quoted or in a diff. */
const BASE64_LINE = /^[ >]*[+-]?[ \t>]*([A-Za-z0-9+/]{40,}={0,2})\s*$/;

/**
 * Joins lines that an encoding splits: quoted-printable ends a line with `=` (RFC 2045 §6.7), shells and YAML
 * with a backslash, and base64 has lines of 64 or 76 characters. A value may span several of them.
 */
export class BrokenLines {
  #tail = '';
  #kind: 'base64' | 'broken' | null = null;

  /** This line joined to the end of the previous lines; null if it stands alone. */
  join(line: string): string | null {
    const base64 = BASE64_LINE.exec(line)?.[1];
    // The last line of base64 may be short.
    const rest =
      this.#kind === 'base64'
        ? (base64 ?? /^[ >+-]*([A-Za-z0-9+/]+={0,2})\s*$/.exec(line)?.[1])
        : line.trimStart();
    const joined = this.#kind === null || rest === undefined ? null : this.#tail + rest;
    const soft = /(?:=[ \t]*|\\)\r?\n?$/.exec(line);
    if (base64 !== undefined && soft === null) this.#kind = 'base64';
    else this.#kind = soft === null ? null : 'broken';
    const own = this.#kind === 'base64' ? base64 : line.slice(0, soft?.index);
    this.#tail = this.#kind === null ? '' : `${joined === null ? '' : this.#tail}${own}`.slice(-MAX_TAIL);
    return joined;
  }
}
