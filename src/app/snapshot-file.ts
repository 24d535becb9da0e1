import { createHash } from 'node:crypto';
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { SnapshotFile, SnapshotFiles } from '../operations/incident/snapshot.ts';

/** Characters to collect before a write. */
const BUFFER = 1 << 18;

/** Stores snapshots as files with mode 0600, in a directory with mode 0700 that is created on first use. */
export function snapshotFiles(folder: string): SnapshotFiles {
  return {
    async create(name) {
      const path = join(folder, name);
      try {
        await mkdir(folder, { recursive: true, mode: 0o700 });
        return new FileSnapshot(path, await open(`${path}.part`, 'wx', 0o600));
      } catch (cause) {
        throw notWritten(path, cause);
      }
    },
  };
}

class FileSnapshot implements SnapshotFile {
  readonly path: string;
  readonly #file: FileHandle;
  readonly #hash = createHash('sha256');
  #buffer = '';

  constructor(path: string, file: FileHandle) {
    this.path = path;
    this.#file = file;
  }

  async write(text: string): Promise<void> {
    this.#buffer += text;
    if (this.#buffer.length >= BUFFER) await this.#flush();
  }

  async commit(): Promise<string> {
    await this.#flush();
    try {
      await this.#file.sync();
      await this.#file.close();
      await rename(`${this.path}.part`, this.path);
      const folder = await open(dirname(this.path));
      await folder.sync();
      await folder.close();
    } catch (cause) {
      throw notWritten(this.path, cause);
    }
    return this.#hash.digest('hex');
  }

  async discard(): Promise<void> {
    await this.#file.close().catch(() => undefined);
    await rm(`${this.path}.part`, { force: true });
  }

  async #flush(): Promise<void> {
    const text = this.#buffer;
    this.#buffer = '';
    this.#hash.update(text);
    try {
      await this.#file.writeFile(text);
    } catch (cause) {
      throw notWritten(this.path, cause);
    }
  }
}

function notWritten(path: string, cause: unknown): TokenctlError {
  const { code } = cause as NodeJS.ErrnoException;
  return new TokenctlError('configuration', `Cannot write the snapshot ${path} (${code})`, {
    hint: 'Free disk space, or make the directory writable.',
    cause,
  });
}
