import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { TokenctlError } from '../../core/errors.ts';
import { requireReadable } from '../readable-file.ts';

/**
 * Streams the lines of a file; of standard input for `-`.
 *
 * @throws TokenctlError `configuration` for a file that cannot be read, `usage` where standard input is the
 * terminal.
 */
export async function* leakedLines(path: string): AsyncGenerator<string, void> {
  if (path === '-' && process.stdin.isTTY) {
    throw new TokenctlError('usage', 'There is nothing on standard input', {
      hint: 'Give a file, or have another program write to this one: a pasted value would stand on the screen.',
    });
  }
  if (path !== '-') requireReadable(path, 'The file of --leaked');
  const input = path === '-' ? process.stdin : createReadStream(path);
  yield* createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY });
}
