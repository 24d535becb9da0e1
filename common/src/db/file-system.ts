import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { codeOf } from '../errors.ts';

/**
 * Creates a folder and its parents with mode 0700, and returns the topmost new one; undefined if all existed.
 * With `recursive`, Node.js never returns if the file system reports ENOENT for a folder whose parent exists,
 * as `/proc` does.
 */
export async function makeFolder(path: string): Promise<string | undefined> {
  try {
    await mkdir(path, { mode: 0o700 });
    return path;
  } catch (error) {
    const code = codeOf(error);
    if (code === 'EEXIST') return undefined;
    if (code !== 'ENOENT' || dirname(path) === path) throw error;
  }
  const above = await makeFolder(dirname(path));
  await mkdir(path, { mode: 0o700 }).catch((error: unknown) => {
    // Another process created it in the meantime.
    if (codeOf(error) !== 'EEXIST') throw error;
  });
  return above ?? path;
}

/** A file lock. It ends with {@link FileLock.release}, with `using`, or with the process. */
export interface FileLock extends Disposable {
  release(): void;
}

/** The low byte of SQLite's result codes for a busy database. The high bytes contain the reason. */
const SQLITE_BUSY = 5;

/**
 * Takes an exclusive lock on a file, which is created if needed and stays empty; null if it is held. Node.js has no
 * file locks, and a lock folder or pid file outlives a killed process. An exclusive SQLite transaction is a lock of
 * the operating system: it always ends with the process, and works between processes and within one.
 */
export function tryLock(path: string): FileLock | null {
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if (isBusy(error)) return null;
    throw error;
  }
  let held = true;
  const release = () => {
    if (!held) return;
    held = false;
    database.close();
  };
  return { release, [Symbol.dispose]: release };
}

/** The same, but waits at most `patience` milliseconds; null if it was not free in time. */
export async function lock(path: string, patience: number): Promise<FileLock | null> {
  const until = performance.now() + patience;
  for (let pause = 1; ; pause = Math.min(pause * 2, 50)) {
    const taken = tryLock(path);
    if (taken !== null || performance.now() >= until) return taken;
    await sleep(pause * (0.5 + Math.random() / 2));
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && (Number(error.errcode) & 0xff) === SQLITE_BUSY;
}
