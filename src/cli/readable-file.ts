import { accessSync, constants, statSync } from 'node:fs';
import { TokenctlError } from '../domain/errors.ts';

/**
 * Makes sure that a file which a setting is to name can be read, while its name can still be corrected.
 *
 * @param what how the file is called in the error: `The file of --ca-file`
 * @throws TokenctlError `configuration`
 */
export function requireReadable(path: string, what: string): void {
  const problem = problemWith(path);
  if (problem !== undefined) throw new TokenctlError('configuration', `${what}, ${path}, ${problem}`);
}

function problemWith(path: string): string | undefined {
  try {
    accessSync(path, constants.R_OK);
    return statSync(path).isFile() ? undefined : 'is not a file';
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    return code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`;
  }
}
