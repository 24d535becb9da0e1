import { constants } from 'node:fs';
import { type FileHandle, open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { makeFolder } from '@tokenctl/common/db/file-system.ts';
import { codeOf, TokenctlError } from '@tokenctl/common/errors.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import type { LogKeys } from '../operations/ports/audit-log.ts';
import { syncFolder } from './log-files.ts';

const { O_RDONLY, O_WRONLY, O_CREAT, O_EXCL, O_TRUNC, O_APPEND, O_NOFOLLOW } = constants;

/** Any permission for users other than the owner. */
const OTHERS_ACCESS = 0o077;

/** Keeps the private key of a log in a file with mode 0600, and all public keys, one per line, in its `.pub`. */
export function openKeyFiles(path: string): LogKeys {
  return new KeyFiles(path);
}

class KeyFiles implements LogKeys {
  readonly #path: string;
  readonly #publicPath: string;

  constructor(path: string) {
    this.#path = path;
    this.#publicPath = `${path}.pub`;
  }

  async create({ signer, verifier }: { signer: Secret; verifier: string }): Promise<void> {
    await this.#attempt('write', async () => {
      await makeFolder(dirname(this.#path));
      await write(this.#path, { text: signer.reveal(), flags: O_EXCL, mode: 0o600 });
      await write(this.#publicPath, { text: verifier, flags: O_EXCL, mode: 0o644 });
      await syncFolder(dirname(this.#path));
    });
  }

  async signer(): Promise<Secret> {
    return await this.#attempt('read', async () => {
      await using file = await open(this.#path, O_RDONLY | O_NOFOLLOW);
      if (((await file.stat()).mode & OTHERS_ACCESS) !== 0) {
        throw new TokenctlError('configuration', `Other users can read the log key ${this.#path}`, {
          hint: `Run: chmod 600 ${this.#path}. If another user may have read the key, replace it with \`tokenctl log init --rotate\`.`,
        });
      }
      return new Secret(await file.readFile('utf8'));
    });
  }

  async verifiers(): Promise<readonly string[]> {
    return await this.#attempt('read', async () => {
      await using file = await open(this.#publicPath, O_RDONLY);
      return (await file.readFile('utf8')).split('\n').filter((line) => line !== '');
    });
  }

  async stage(signer: Secret): Promise<void> {
    await this.#attempt('write', async () => {
      await write(this.#staged, { text: signer.reveal(), flags: O_TRUNC, mode: 0o600 });
    });
  }

  async adopt(verifier: string): Promise<void> {
    await this.#attempt('write', async () => {
      await write(this.#publicPath, { text: verifier, flags: O_APPEND, mode: 0o644 });
      await rename(this.#staged, this.#path);
      await syncFolder(dirname(this.#path));
    });
  }

  get #staged(): string {
    return `${this.#path}.next`;
  }

  async #attempt<T>(action: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (cause) {
      if (cause instanceof TokenctlError) throw cause;
      throw this.#failure(action, cause);
    }
  }

  #failure(action: string, cause: unknown): TokenctlError {
    const code = codeOf(cause) ?? 'unknown reason';
    if (code === 'EEXIST') {
      return new TokenctlError('configuration', `The log key ${this.#path} already exists`, {
        hint: 'Replace it with `tokenctl log init --rotate`.',
        cause,
      });
    }
    const why = code === 'ENOENT' ? 'it does not exist' : code;
    return new TokenctlError('configuration', `Could not ${action} the log key ${this.#path}: ${why}`, {
      hint: 'Create a key with `tokenctl log init`, or configure the path of the existing key.',
      cause,
    });
  }
}

async function write(path: string, { text, flags, mode }: { text: string; flags: number; mode: number }) {
  await using file: FileHandle = await open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | flags, mode);
  await file.writeFile(`${text.trim()}\n`);
  await file.sync();
}
