import {
  closeSync,
  constants,
  existsSync,
  fchownSync,
  fstatSync,
  openSync,
  readdirSync,
  statSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { absolutePath, configFolder, type Environment } from './paths.ts';

/** Where the Debian and Red Hat packages keep the files of the machine's service. */
export interface MachinePlace {
  readonly configuration: string;
  /** The parent of the state folder (`XDG_STATE_HOME` of the units). */
  readonly states: string;
}

/** The same as in the packages and their units. */
export const MACHINE: MachinePlace = { configuration: '/etc/tokenctl/tokenctl.yaml', states: '/var/lib' };

/**
 * The environment of a command that an administrator runs, so that it finds the configuration, audit log and ledger
 * of the service. root uses the machine's configuration if its folder exists and root has no own configuration. With
 * the machine's configuration, a command also uses the machine's state, unless XDG_STATE_HOME is set.
 * @param config The value of `--config`.
 */
export function machineEnvironment(
  environment: Environment,
  options: { config?: string | undefined; isRoot?: boolean; machine?: MachinePlace },
): Environment {
  const { config, isRoot = process.getuid?.() === 0, machine = MACHINE } = options;
  const named = config ?? (environment['TOKENCTL_CONFIG'] || undefined);
  const isMachines =
    named === undefined
      ? isRoot && hasNoOwn(environment) && existsSync(dirname(machine.configuration))
      : absolutePath(named, process.cwd(), environment) === machine.configuration;
  if (!isMachines) return environment;
  return {
    ...environment,
    ...(named === undefined && { XDG_CONFIG_HOME: dirname(dirname(machine.configuration)) }),
    ...(!environment['XDG_STATE_HOME'] && { XDG_STATE_HOME: machine.states }),
  };
}

function hasNoOwn(environment: Environment): boolean {
  const own = configFolder(environment);
  return !environment['XDG_CONFIG_HOME'] && (own === null || !existsSync(join(own, 'tokenctl.yaml')));
}

/**
 * Gives files that root created in a service's state folder to the folder's owner: otherwise the service could not
 * write them. Does nothing in a folder of root, or for a user other than root. Includes new folders.
 * @throws Error of the file system
 */
export function giveToOwner(folder: string): void {
  if (process.getuid?.() !== 0 || !existsSync(folder)) return;
  const { uid, gid } = statSync(folder);
  if (uid !== 0) give(folder, { uid, gid });
}

function give(folder: string, owner: { readonly uid: number; readonly gid: number }): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (!entry.isFile() && !entry.isDirectory()) continue;
    giveOne(path, owner);
    if (entry.isDirectory()) give(path, owner);
  }
}

/** The folder's owner could replace the file by a link to one of root's, so the opened file is checked. */
function giveOne(path: string, { uid, gid }: { uid: number; gid: number }): void {
  let descriptor: number;
  try {
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    // The file was deleted or replaced.
    return;
  }
  try {
    const status = fstatSync(descriptor);
    if (status.uid !== 0 || !(status.isDirectory() || (status.isFile() && status.nlink === 1))) return;
    fchownSync(descriptor, uid, gid);
  } finally {
    closeSync(descriptor);
  }
}
