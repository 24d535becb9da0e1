import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { TokenctlError } from '../../domain/errors.ts';
import { requireReadable } from '../readable-file.ts';

/**
 * Opens what may hold token values, for one reader or several: a file, or standard input for `-`. Standard input
 * comes once only, so that several readers have it kept in memory.
 *
 * @returns The lines for one reader. They throw TokenctlError `configuration` for a file that cannot be read, `usage`
 * where standard input is the terminal.
 */
export function leakedSource(path: string): (reader: { readonly several: boolean }) => AsyncIterable<string> {
  let kept: Promise<readonly string[]> | undefined;
  return ({ several }) => {
    if (path !== '-' || !several) return leakedLines(path);
    kept ??= Array.fromAsync(leakedLines(path));
    return linesOf(kept);
  };
}

async function* linesOf(kept: Promise<readonly string[]>): AsyncIterable<string> {
  yield* await kept;
}

async function* leakedLines(path: string): AsyncGenerator<string, void> {
  if (path === '-' && process.stdin.isTTY) {
    throw new TokenctlError('usage', 'There is nothing on standard input', {
      hint: 'Give a file, or have another program write to this one: a pasted value would stand on the screen.',
    });
  }
  if (path !== '-') requireReadable(path, 'The file of --leaked');
  const input = path === '-' ? process.stdin : createReadStream(path);
  yield* createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY });
}
