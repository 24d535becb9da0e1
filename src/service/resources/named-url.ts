import { parseTarget } from '../target.ts';

/** What would end or divide a path segment, or start an escape in it. A space stays, as on the controller. */
const RESERVED = /[;/?:@=&[\]%#\\]/g;

/** The path segment of the controller's named URLs: the names in order, `++` between, a plus sign as `[+]`. */
export function namedSegment(names: readonly string[]): string {
  const encode = (name: string) => name.replace(RESERVED, encodeURIComponent).replaceAll('+', '[+]');
  return names.map(encode).join('++');
}

/**
 * The names in a named URL, read from the target itself: once decoded, a plus sign of a name could not be
 * told from a separator.
 *
 * @param url The request's target; its fourth segment (`/api/v2/<collection>/<names>/`) is read.
 * @returns Null where the segment is not well encoded.
 */
export function namesIn(url: string): readonly string[] | null {
  const segment = parseTarget(url).path.split('/')[4] ?? '';
  try {
    return segment
      .replaceAll(/\[\+\]|%5B(\+|%2B)%5D/gi, '%2B')
      .split('++')
      .map(decodeURIComponent);
  } catch {
    return null;
  }
}
