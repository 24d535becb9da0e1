import { constants } from 'node:fs';
import { access, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { tryLock } from '../db/file-lock.ts';
import { makeFolder } from '../db/make-folder.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Says which runs are being worked on: each holds a lock on a file of its own beside the log. The lock
 * ends with the process, however that ends, so that what a killed one left is told from what a living
 * one is about to finish.
 */
export class RunHolds {
  readonly #folder: string;

  /** @param logPath The log's path; the files stand in a folder of that name with `.runs`. */
  constructor(logPath: string) {
    this.#folder = `${logPath}.runs`;
  }

  /**
   * Holds a run until disposed of.
   *
   * @throws The file system's error where the file cannot be made.
   */
  async hold(run: string): Promise<Disposable> {
    if (!UUID.test(run)) throw new Error('A run is named by a UUID');
    await makeFolder(this.#folder);
    const path = this.#file(run);
    const made = await open(path, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY, 0o600);
    await made.close();
    const lock = tryLock(path);
    if (lock === null) throw new Error(`Run ${run} is held already`);
    return {
      [Symbol.dispose]: () => {
        lock.release();
        void rm(path, { force: true }).catch(() => undefined);
      },
    };
  }

  /** Whether a living process works on a run. Clears away what a killed one left. */
  async isHeld(run: string): Promise<boolean> {
    if (!UUID.test(run)) return false;
    const path = this.#file(run);
    if (!(await exists(path))) return false;
    const lock = tryLock(path);
    if (lock === null) return true;
    lock.release();
    await rm(path, { force: true });
    return false;
  }

  #file(run: string): string {
    return join(this.#folder, `${run}.lock`);
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch {
    return false;
  }
}
