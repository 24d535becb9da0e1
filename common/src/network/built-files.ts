import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};

/** The compressed forms that the build puts next to a file, the smaller one first. */
const ENCODINGS = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const;

/** A file as sent. */
export interface BuiltFile {
  readonly body: Buffer;
  /** Its type and encoding. */
  readonly headers: Readonly<Record<string, string>>;
}

/** The files of a web application, read once: an upgrade replaces them, and two builds do not work together. */
export class BuiltFiles {
  readonly #files: ReadonlyMap<string, Buffer>;

  /**
   * @param folders Where the build may have put them. The first folder with the page is used; if there is
   * none, nothing is served.
   * @param page A page that only the build creates.
   */
  constructor(folders: readonly URL[], page: string) {
    const folder = folders.find((each) => existsSync(new URL(page, each)));
    const names = folder === undefined ? [] : readdirSync(folder, { recursive: true });
    this.#files = new Map(
      names
        .map((name) => String(name).replaceAll('\\', '/'))
        .filter((name) => TYPES[extname(name.replace(/\.(br|gz)$/, ''))] !== undefined)
        .map((name) => [name, readFileSync(new URL(name, folder))]),
    );
  }

  /** A file by its name, in the smallest form that `Accept-Encoding` allows; null if there is none. */
  find(name: string, accepted: string | string[] | undefined): BuiltFile | null {
    const plain = this.#files.get(name);
    const type = TYPES[extname(name)];
    if (plain === undefined || type === undefined) return null;
    const headers = { 'Content-Type': type, Vary: 'Accept-Encoding' };
    for (const [encoding, suffix] of ENCODINGS) {
      const body = this.#files.get(`${name}${suffix}`);
      if (body !== undefined && acceptsEncoding(accepted, encoding))
        return { body, headers: { ...headers, 'Content-Encoding': encoding } };
    }
    return { body: plain, headers };
  }

  /** A file of `/assets/`, whose name contains the hash of its content: it may be cached forever. */
  findAsset(file: string, accepted: string | string[] | undefined): BuiltFile | null {
    const found = this.find(`assets/${file}`, accepted);
    const kept = { 'Cache-Control': 'public, max-age=31536000, immutable' };
    return found && { ...found, headers: { ...found.headers, ...kept } };
  }
}

/** Whether a client accepts an encoding (RFC 9110 section 12.5.3); `q=0` refuses it. */
export function acceptsEncoding(accepted: string | string[] | undefined, encoding: string): boolean {
  return String(accepted ?? '')
    .split(',')
    .some((part) => {
      const [name, quality] = part.split(';').map((each) => each.trim().toLowerCase());
      return name === encoding && !/^q=0(\.0*)?$/.test(quality ?? '');
    });
}
