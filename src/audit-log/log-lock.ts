import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { type FileLock, lock } from '../db/file-lock.ts';
import { TokenctlError } from '../domain/errors.ts';
import { prepareFolder } from './log-folder.ts';

/** How long an append waits for others, in milliseconds; each holds the lock for one write and sync. */
const PATIENCE = 15_000;

/** The lock that all appends to a log share, held on a file beside it. */
export class LogLock {
  readonly #logPath: string;
  #isMade = false;

  constructor(logPath: string) {
    this.#logPath = logPath;
  }

  /**
   * Takes the lock.
   *
   * @throws TokenctlError `audit_unavailable` where others hold it for too long; the file system's error
   * where the lock file cannot be made.
   */
  async take(): Promise<FileLock> {
    const path = `${this.#logPath}.lock`;
    if (!this.#isMade) await makeLockFile(path);
    this.#isMade = true;
    const taken = await lock(path, PATIENCE);
    if (taken !== null) return taken;
    throw new TokenctlError(
      'audit_unavailable',
      `The audit log ${this.#logPath} cannot be written: another process holds its lock`,
      { hint: 'Wait for it to end. A process that was killed holds no lock.' },
    );
  }
}

/**
 * Makes the lock file with a mode of 0600 where it is missing. It is never opened here otherwise: closing
 * a file gives up a process's POSIX locks on it, those that SQLite holds included.
 */
async function makeLockFile(path: string): Promise<void> {
  if (await isMade(path)) return;
  await prepareFolder(path);
  await isMade(path);
}

/** Makes the file, or finds it made by somebody else. False where its folder is missing. */
async function isMade(path: string): Promise<boolean> {
  try {
    const file = await open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
    await file.close();
    return true;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
    if (error.code === 'ENOENT') return false;
    if (error.code === 'EEXIST') return true;
    throw error;
  }
}
