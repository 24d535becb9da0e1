import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';

/** The environment as a process has it: names to values. */
export type Environment = Readonly<Record<string, string | undefined>>;

const PROGRAM = 'tokenctl';

/** The folder for configuration and secrets (XDG Base Directory Specification). */
export function configFolder(environment: Environment): string {
  return join(xdgBase(environment, 'XDG_CONFIG_HOME', '.config'), PROGRAM);
}

/** The folder for what must outlive a run but is no configuration: the audit log. */
export function stateFolder(environment: Environment): string {
  return join(xdgBase(environment, 'XDG_STATE_HOME', '.local/state'), PROGRAM);
}

/** A path as people write it: `~/` is the home folder, and what is relative starts at `base`. */
export function absolutePath(path: string, base: string, environment: Environment): string {
  return path.startsWith('~/') ? join(home(environment), path.slice(2)) : resolve(base, path);
}

/** The specification has relative values ignored. */
function xdgBase(environment: Environment, variable: string, fallback: string): string {
  const value = environment[variable];
  return value !== undefined && isAbsolute(value) ? value : join(home(environment), fallback);
}

function home(environment: Environment): string {
  return environment['HOME'] || homedir();
}
