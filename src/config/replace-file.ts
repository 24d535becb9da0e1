import { mkdirSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { TokenctlError } from '../domain/errors.ts';

/**
 * Writes a file that only its owner can read, replacing an earlier one in one step: whoever reads
 * meanwhile, and whatever happens, there is the old content or the new. A link stays a link.
 *
 * @throws TokenctlError `configuration` where it cannot be written
 */
export function replaceFile(path: string, content: string): void {
  const fresh = `${targetOf(path)}.${process.pid}.new`;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(fresh, content, { mode: 0o600, flag: 'wx', flush: true });
    renameSync(fresh, targetOf(path));
  } catch (cause) {
    rmSync(fresh, { force: true });
    const { code } = cause as NodeJS.ErrnoException;
    throw new TokenctlError('configuration', `The file ${path} cannot be written (${code})`, { cause });
  }
}

/** People keep their configuration elsewhere and link to it. */
function targetOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
