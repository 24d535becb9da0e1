import { badRequest, invalid, notFound } from '../failure.ts';
import { MAX_INTEGER } from '../listing/fields.ts';
import { parseTarget } from '../request.ts';

/** Throws 404 if the text is not a valid id. */
export function pathId(text: string | undefined): number {
  const id = Number(text);
  if (!Number.isSafeInteger(id) || id < 1 || id > MAX_INTEGER) throw notFound();
  return id;
}

/** The id in a body; null if there is none. Throws 400 for anything but a JSON number. */
export function idIn({ id }: Readonly<Record<string, unknown>>, noun: string): number | null {
  if (id === undefined || id === null || id === '' || id === 0 || id === false) return null;
  if (typeof id !== 'number' || !Number.isInteger(id)) throw invalid({ msg: '"id" must be an integer.' });
  if (id < 1 || id > MAX_INTEGER) throw badRequest(`No ${noun} has the ID ${id}.`);
  return id;
}

/** Characters with a meaning in a path segment. A space is not encoded, as on the controller. */
const RESERVED = /[;/?:@=&[\]%#\\]/g;

/** The path segment of the controller's named URLs: the names in order, `++` between, a plus sign as `[+]`. */
export function namedSegment(names: readonly string[]): string {
  const encode = (name: string) => name.replace(RESERVED, encodeURIComponent).replaceAll('+', '[+]');
  return names.map(encode).join('++');
}

/**
 * The names in a named URL, in its fourth segment (`/api/v2/<collection>/<names>/`). They are read from the
 * undecoded target: after decoding, a plus sign in a name would look like a separator.
 * @returns Null if its encoding is invalid, or a name has a NUL, which no text in the database contains.
 */
export function namesIn(url: string): readonly string[] | null {
  const segment = parseTarget(url).path.split('/')[4] ?? '';
  try {
    const names = segment
      .replaceAll(/\[\+\]|%5B(\+|%2B)%5D/gi, '%2B')
      .split('++')
      .map(decodeURIComponent);
    return names.some((name) => name.includes('\0')) ? null : names;
  } catch {
    return null;
  }
}
