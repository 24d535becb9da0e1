import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';

/** A lock held on a file. Let go by {@link FileLock.release}, by `using`, or by the end of the process. */
export interface FileLock extends Disposable {
  release(): void;
}

/** The low byte of SQLite's result codes for busy; the others say why. */
const SQLITE_BUSY = 5;

/**
 * Takes an exclusive lock on a file, which is made if need be and holds nothing else.
 *
 * Node.js has no file locks, and a lock made of a directory or a pid outlives a killed process. SQLite's
 * exclusive transaction is a lock of the operating system: it ends with the process, however that ends,
 * and holds between processes on one machine and between callers in one process alike.
 *
 * @returns The lock, or null where somebody else holds it.
 * @throws The file system's error where the file cannot be made or written.
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

/**
 * The same, waiting until the lock is free.
 *
 * @param patience For how long, in milliseconds.
 * @returns The lock, or null where it was not free in time.
 */
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
