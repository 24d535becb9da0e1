import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  closeSync,
  fsyncSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import { type SecretStore, sameValue, storeChanged } from '../operations/ports/secret-store.ts';

/** In bytes. A larger file cannot contain a token. */
const MAX_BYTES = 64 * 1024;
const NEW_MODE = 0o600;

/**
 * A file with the value and a line feed, for programs that read it, systemd credentials and mounts. It is
 * replaced in one step: a reader finds the old or the new value. Its mode and owner are kept; a new one has
 * mode 0600. A symbolic link is kept.
 * @param options.isPrivate Refuses an existing file that is a link or that others can read.
 */
export function fileStore(
  path: string,
  called: string,
  { isPrivate = false }: { isPrivate?: boolean } = {},
): SecretStore {
  const name = `${called} (${path})`;
  const read = () => {
    if (isPrivate) requirePrivate(path, name);
    return readStored(path, name);
  };
  return {
    name,
    read: () => Promise.resolve().then(read),
    write: (value, over) =>
      Promise.resolve().then(() => {
        const target = targetOf(path);
        const fresh = `${target}.${randomBytes(6).toString('hex')}.new`;
        try {
          removeLeft(target);
          writeFileSync(fresh, `${value.reveal()}\n`, { mode: NEW_MODE, flag: 'wx', flush: true });
          keepModeAndOwner(fresh, statSync(target, { throwIfNoEntry: false }));
          // A file has no version to compare while replacing it. This check is as close to that as possible.
          if (!sameValue(read(), over)) throw storeChanged(name);
          renameSync(fresh, target);
          syncFolder(dirname(target));
        } catch (cause) {
          rmSync(fresh, { force: true });
          throw cause instanceof TokenctlError ? cause : failure(name, 'written', cause);
        }
      }),
  };
}

function requirePrivate(path: string, name: string): void {
  const status = lstatSync(path, { throwIfNoEntry: false });
  if (status === undefined) return;
  const isOwn = status.isFile() && status.uid === (process.geteuid?.() ?? status.uid);
  if (isOwn && (status.mode & 0o077) === 0) return;
  throw new TokenctlError('configuration', `${name} exists, but is not a file that only this user can read`, {
    hint: 'Remove it, or specify another directory.',
  });
}

function readStored(path: string, name: string): Secret | null {
  try {
    const status = statSync(path, { throwIfNoEntry: false });
    if (status === undefined) return null;
    if (!status.isFile() || status.size > MAX_BYTES) {
      throw new TokenctlError('configuration', `${name} is not a file with a single value`);
    }
    const text = readFileSync(path, 'utf8').replace(/\r?\n$/, '');
    return text === '' ? null : new Secret(text);
  } catch (cause) {
    throw cause instanceof TokenctlError ? cause : failure(name, 'read', cause);
  }
}

/** Temporary files older than this are from killed processes, in milliseconds. A write takes less than a second. */
const LEFT_MS = 600_000;

/** Removes files that killed processes left next to a file. The next rotation revokes their values. */
function removeLeft(target: string): void {
  const [folder, prefix] = [dirname(target), `${basename(target)}.`];
  for (const name of readdirSync(folder)) {
    if (!name.startsWith(prefix) || !/^[0-9a-f]{12}\.new$/.test(name.slice(prefix.length))) continue;
    const status = statSync(join(folder, name), { throwIfNoEntry: false });
    if (status !== undefined && status.mtimeMs < Date.now() - LEFT_MS)
      rmSync(join(folder, name), { force: true });
  }
}

function keepModeAndOwner(fresh: string, of: Stats | undefined): void {
  if (of === undefined) return;
  const { uid, gid } = statSync(fresh);
  if (uid !== of.uid || gid !== of.gid) chownSync(fresh, of.uid, of.gid);
  chmodSync(fresh, of.mode & 0o777);
}

/** A power failure can undo a rename until its folder is synced. */
function syncFolder(folder: string): void {
  const descriptor = openSync(folder, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function targetOf(path: string): string {
  return statSync(path, { throwIfNoEntry: false }) === undefined ? path : realpathSync(path);
}

function failure(name: string, what: 'read' | 'written', cause: unknown): TokenctlError {
  const { code = 'unknown' } = cause as NodeJS.ErrnoException;
  const hints: Readonly<Record<string, string>> = {
    EACCES: 'Give the user that runs tokenctl access to the file and its directory.',
    EPERM: 'To keep the owner of the file, run tokenctl as that owner or as root.',
    ENOSPC: 'Free some disk space.',
    ENOENT: 'Create its folder.',
  };
  return new TokenctlError('configuration', `${name} cannot be ${what} (${code})`, {
    hint: hints[code],
    cause,
  });
}
