import { readFileSync } from 'node:fs';
import { TokenctlError } from '../../domain/errors.ts';

/**
 * Reads a small text, such as a checkpoint.
 *
 * @param what How the file is called in errors: `The checkpoint`.
 * @throws TokenctlError `configuration` where it cannot be read
 */
export function textFile(path: string, what: string): string {
  const text = textFileIfThere(path, what);
  if (text !== undefined) return text;
  throw new TokenctlError('configuration', `${what} ${path} does not exist`);
}

/** The same; undefined where there is no such file. */
export function textFileIfThere(path: string, what: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    throw new TokenctlError('configuration', `${what} ${path} cannot be read (${code})`, { cause });
  }
}
