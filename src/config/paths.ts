import { chmodSync, mkdirSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { TokenctlError } from '@tokenctl/common/errors.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

const PROGRAM = 'tokenctl';

/**
 * The folder for configuration and secrets (XDG Base Directory Specification); null if the environment contains
 * neither XDG_CONFIG_HOME nor HOME. `bin/tokenctl.js` sets HOME from the user's entry in the password database.
 */
export function configFolder(environment: Environment): string | null {
  return programFolder(environment, 'XDG_CONFIG_HOME', '.config');
}

/** Like {@link stateFolder}, with null instead of the error. */
export function stateFolderIfKnown(environment: Environment): string | null {
  return programFolder(environment, 'XDG_STATE_HOME', '.local/state');
}

/** The folder for the audit log, the ledger and incidents. Throws `configuration` without XDG_STATE_HOME and HOME. */
export function stateFolder(environment: Environment): string {
  const folder = stateFolderIfKnown(environment);
  if (folder !== null) return folder;
  throw new TokenctlError('configuration', 'No state directory: neither XDG_STATE_HOME nor HOME is set', {
    hint: 'Set XDG_STATE_HOME to a directory that this user can write to.',
  });
}

/** The folder of a service's credentials. systemd names it after the unit, so each unit has a different one. */
const CREDENTIALS = '$CREDENTIALS_DIRECTORY/';

/**
 * Resolves a path: `~/` is the home folder, `$CREDENTIALS_DIRECTORY/` the folder of credentials that systemd
 * gives a service, and relative paths start at `base`. Outside a service, `$CREDENTIALS_DIRECTORY/` is the
 * folder `secrets` at `base`, from which the packages' units load the credentials.
 * @throws TokenctlError `configuration` if HOME is required and not set
 */
export function absolutePath(path: string, base: string, environment: Environment): string {
  if (path.startsWith('~/')) {
    const home = environment['HOME'];
    if (home) return join(home, path.slice(2));
    throw new TokenctlError('configuration', `No home directory for the path ${path}: HOME is not set`, {
      hint: 'Set HOME, or use an absolute path.',
    });
  }
  if (path.startsWith(CREDENTIALS)) {
    const folder = environment['CREDENTIALS_DIRECTORY'] || join(base, 'secrets');
    return join(folder, path.slice(CREDENTIALS.length));
  }
  return resolve(base, path);
}

/** According to the specification, relative values are ignored. */
function programFolder(environment: Environment, variable: string, inHome: string): string | null {
  const base = environment[variable];
  if (base !== undefined && isAbsolute(base)) return join(base, PROGRAM);
  return environment['HOME'] ? join(environment['HOME'], inHome, PROGRAM) : null;
}

/**
 * Writes a file that only its owner can read, unless `mode` allows more. It replaces an existing file in one
 * step, so that a reader always finds the old or the new content. A symbolic link is kept.
 * @throws TokenctlError `configuration` if it cannot be written
 */
export function replaceFile(path: string, content: string, mode = 0o600): void {
  const fresh = `${targetOf(path)}.${process.pid}.new`;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(fresh, content, { mode: 0o600, flag: 'wx', flush: true });
    if (mode !== 0o600) chmodSync(fresh, mode);
    renameSync(fresh, targetOf(path));
  } catch (cause) {
    rmSync(fresh, { force: true });
    const { code } = cause as NodeJS.ErrnoException;
    throw new TokenctlError('configuration', `Cannot write to the file ${path} (${code})`, { cause });
  }
}

/** Some users keep their configuration elsewhere and link to it. */
function targetOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
