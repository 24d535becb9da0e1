import { constants } from 'node:fs';
import { access, chmod, lstat, open, readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { type FileLock, lock, makeFolder, tryLock } from '@tokenctl/common/db/file-system.ts';
import { codeOf, TokenctlError } from '@tokenctl/common/errors.ts';
import { logRefused } from './failures.ts';

const { O_RDONLY, O_WRONLY, O_RDWR, O_CREAT, O_EXCL, O_APPEND, O_NOFOLLOW, O_DIRECTORY, O_NONBLOCK } =
  constants;

/** Other users with write permission could replace or rewrite a file. */
const OTHERS_WRITE = 0o002;
const STICKY = 0o1000;

/** Opens a log for appending. Creates it if it is missing (mode 0600, durably). Follows no symbolic link. */
export async function openForAppending(path: string) {
  const flags = O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK;
  try {
    return await openChecked(path, flags);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
  await prepareFolder(path);
  const [archive] = await archivesOf(path);
  if (archive !== undefined) {
    throw logRefused(
      path,
      `it is missing, but its archive ${archive.path} exists`,
      'Restore it from a backup.',
    );
  }
  const file = await openChecked(path, flags | O_CREAT | O_EXCL);
  await syncFolder(dirname(path));
  return file;
}

/** Opens a log for reading; null if it does not exist. Follows no symbolic link. */
export async function openForReading(path: string) {
  try {
    return await openChecked(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}

async function openChecked(path: string, flags: number) {
  const file = await open(path, flags, 0o600);
  try {
    const [status] = await Promise.all([file.stat(), requireFolder(path)]);
    if (!status.isFile()) {
      throw logRefused(path, 'it is not a regular file', 'Configure the path of a regular file.');
    }
    if ((status.mode & OTHERS_WRITE) !== 0) {
      throw logRefused(path, 'it is writable by all users', `Run: chmod o-w ${path}`);
    }
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Creates a log's folder if missing (mode 0700, durably). Refuses one that all users can write to. */
async function prepareFolder(path: string): Promise<void> {
  const folder = dirname(path);
  const made = await makeFolder(folder);
  if (made !== undefined) await syncFolder(dirname(made));
  await requireFolder(path);
}

async function requireFolder(path: string): Promise<void> {
  const folder = dirname(path);
  const { mode } = await lstat(folder);
  if ((mode & OTHERS_WRITE) !== 0 && (mode & STICKY) === 0) {
    throw logRefused(path, `its directory ${folder} is writable by all users`, `Run: chmod o-w ${folder}`);
  }
}

/** Syncs the list of files in a folder to stable storage. */
export async function syncFolder(folder: string): Promise<void> {
  await using handle = await open(folder, O_RDONLY | O_DIRECTORY);
  await handle.sync();
}

/** A file that rotation closed: `audit.jsonl.1-5000`. */
export interface Archive {
  readonly path: string;
  readonly first: number;
  readonly last: number;
}

/** The path of a log's archive with the given entries. */
export function archivePath(logPath: string, { first, last }: Omit<Archive, 'path'>): string {
  return `${logPath}.${first}-${last}`;
}

/** The archives of a log, in the order of their entries. */
export async function archivesOf(logPath: string): Promise<readonly Archive[]> {
  const folder = dirname(logPath);
  const prefix = `${basename(logPath)}.`;
  const names = await readdir(folder).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  });
  return names
    .flatMap((name): Archive[] => {
      const range = name.startsWith(prefix)
        ? /^(\d{1,15})-(\d{1,15})$/.exec(name.slice(prefix.length))
        : null;
      if (range === null) return [];
      return [{ path: join(folder, name), first: Number(range[1]), last: Number(range[2]) }];
    })
    .sort((one, other) => one.first - other.first || one.last - other.last);
}

/** A mode bit of the lock file, set if the log has entries: opening the file would lose locks on it. */
const HAS_ENTRIES = 0o100;

/** Remembers that a log has entries, once they are synced: a process may be killed before its first append. */
export async function rememberEntries(logPath: string): Promise<void> {
  await chmod(`${logPath}.lock`, 0o600 | HAS_ENTRIES).catch(() => undefined);
}

/** Whether a log had entries before. False if only an earlier version wrote to it. */
export async function hadEntries(logPath: string): Promise<boolean> {
  const status = await lstat(`${logPath}.lock`).catch(() => null);
  return status !== null && (status.mode & HAS_ENTRIES) !== 0;
}

/** How long an append waits for the lock, in milliseconds. Each holder keeps it for one write and sync. */
const LOCK_TIMEOUT_MS = 15_000;

/** The lock that all appends to a log share, on a file next to it. */
export class LogLock {
  readonly #logPath: string;
  #exists = false;

  constructor(logPath: string) {
    this.#logPath = logPath;
  }

  /** Takes the lock. Throws `audit_unavailable` if others hold it for too long; the file system's error. */
  async take(): Promise<FileLock> {
    const path = `${this.#logPath}.lock`;
    if (!this.#exists) await createLockFile(path);
    this.#exists = true;
    const taken = await lock(path, LOCK_TIMEOUT_MS);
    if (taken !== null) return taken;
    throw new TokenctlError(
      'audit_unavailable',
      `Could not write the audit log ${this.#logPath}: another process holds its lock`,
      { hint: 'Wait for that process to end, and try again. A killed process releases its lock.' },
    );
  }
}

/** Creates a lock file if missing. It is never opened otherwise: closing it would release SQLite's locks too. */
async function createLockFile(path: string): Promise<void> {
  if (await isCreated(path)) return;
  await prepareFolder(path);
  await isCreated(path);
}

/** True if the file exists now, false if its folder is missing. */
async function isCreated(path: string): Promise<boolean> {
  try {
    const file = await open(path, O_WRONLY | O_CREAT | O_EXCL, 0o600);
    await file.close();
    return true;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false;
    if (codeOf(error) === 'EEXIST') return true;
    throw error;
  }
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Marks runs as active: each run locks its own file next to the log. The lock ends with the process. */
export class RunLocks {
  readonly #folder: string;

  constructor(logPath: string) {
    this.#folder = `${logPath}.runs`;
  }

  /** Locks a run until disposed of. Throws the file system's error if the lock file cannot be created. */
  async lock(run: string): Promise<Disposable> {
    if (!UUID.test(run)) throw new Error('The name of a run must be a UUID');
    await makeFolder(this.#folder);
    const path = this.#file(run);
    const created = await open(path, O_CREAT | O_EXCL | O_WRONLY, 0o600);
    await created.close();
    const taken = tryLock(path);
    if (taken === null) throw new Error(`Run ${run} is already locked`);
    return {
      [Symbol.dispose]: () => {
        taken.release();
        void rm(path, { force: true }).catch(() => undefined);
      },
    };
  }

  /** Whether a live process holds a run's lock. Deletes the lock file of a killed process. */
  async isLocked(run: string): Promise<boolean> {
    if (!UUID.test(run)) return false;
    const path = this.#file(run);
    if (!(await exists(path))) return false;
    const taken = tryLock(path);
    if (taken === null) return true;
    taken.release();
    await rm(path, { force: true });
    return false;
  }

  #file(run: string): string {
    return join(this.#folder, `${run}.lock`);
  }
}

async function exists(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  );
}
