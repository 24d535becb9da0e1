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

/** Where the packages for Debian and Red Hat keep what the service of this machine uses. */
export interface MachinePlace {
  /** The configuration file. */
  readonly configuration: string;
  /** The folder above the state folder (`XDG_STATE_HOME` of the units). */
  readonly states: string;
}

/** As the packages and their units have it. */
export const MACHINE: MachinePlace = { configuration: '/etc/tokenctl/tokenctl.yaml', states: '/var/lib' };

/**
 * The environment of a command that an administrator types, so that it finds the same configuration, audit log and ledger as the
 * service. The configuration of the machine is that of root, where its folder exists and root has none of its own. Whoever uses
 * it uses the state of the machine as well, unless XDG_STATE_HOME names another.
 *
 * @param config The value of `--config`.
 */
export function machineEnvironment(
  environment: Environment,
  {
    config,
    isRoot = process.getuid?.() === 0,
    machine = MACHINE,
  }: { config?: string | undefined; isRoot?: boolean; machine?: MachinePlace },
): Environment {
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
 * Gives what root made in the state folder of a service to the user that owns the folder: the service could not write it
 * otherwise. Does nothing in a folder of root, or for another user than root. Folders that are new are included.
 *
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

/** The owner of the folder could replace the file by a link to one of root's: what was opened is what is checked. */
function giveOne(path: string, { uid, gid }: { uid: number; gid: number }): void {
  let descriptor: number;
  try {
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    // It is gone, or another one now.
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
