import { constants } from 'node:fs';
import { type FileHandle, open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { makeFolder } from '../db/make-folder.ts';
import { TokenctlError } from '../domain/errors.ts';
import { Secret } from '../domain/secret.ts';
import type { LogKeys } from '../operations/ports/log-keys.ts';
import { syncFolder } from './log-folder.ts';

const { O_RDONLY, O_WRONLY, O_CREAT, O_EXCL, O_TRUNC, O_APPEND, O_NOFOLLOW } = constants;

/** Reading by anybody but the owner. */
const OTHERS_READ = 0o077;

/**
 * Keeps the log's key in a file of mode 0600, and the public keys, a line each, in one beside it whose
 * name ends in `.pub`.
 */
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

  async create({ signer, verifier }: { readonly signer: Secret; readonly verifier: string }): Promise<void> {
    await this.#tried('written', async () => {
      await makeFolder(dirname(this.#path));
      await write(this.#path, { text: signer.reveal(), flags: O_EXCL, mode: 0o600 });
      await write(this.#publicPath, { text: verifier, flags: O_EXCL, mode: 0o644 });
      await syncFolder(dirname(this.#path));
    });
  }

  async signer(): Promise<Secret> {
    return await this.#tried('read', async () => {
      await using file = await open(this.#path, O_RDONLY | O_NOFOLLOW);
      if (((await file.stat()).mode & OTHERS_READ) !== 0) {
        throw new TokenctlError('configuration', `Others may read the log's key ${this.#path}`, {
          hint: `Take that away (chmod 600 ${this.#path}), and replace the key if somebody did.`,
        });
      }
      return new Secret(await file.readFile('utf8'));
    });
  }

  async verifiers(): Promise<readonly string[]> {
    return await this.#tried('read', async () => {
      await using file = await open(this.#publicPath, O_RDONLY);
      return (await file.readFile('utf8')).split('\n').filter((line) => line !== '');
    });
  }

  async stage(signer: Secret): Promise<void> {
    await this.#tried('written', async () => {
      await write(this.#staged, { text: signer.reveal(), flags: O_TRUNC, mode: 0o600 });
    });
  }

  async adopt(verifier: string): Promise<void> {
    await this.#tried('written', async () => {
      await write(this.#publicPath, { text: verifier, flags: O_APPEND, mode: 0o644 });
      await rename(this.#staged, this.#path);
      await syncFolder(dirname(this.#path));
    });
  }

  get #staged(): string {
    return `${this.#path}.next`;
  }

  async #tried<T>(doing: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (cause) {
      if (cause instanceof TokenctlError) throw cause;
      throw this.#failure(doing, cause);
    }
  }

  #failure(doing: string, cause: unknown): TokenctlError {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown reason';
    if (code === 'EEXIST') {
      return new TokenctlError('configuration', `There is a key at ${this.#path} already`, {
        hint: 'Replace it with `tokenctl log init --rotate`, which hands over from it to a new one.',
        cause,
      });
    }
    const why = code === 'ENOENT' ? 'it does not exist' : code;
    return new TokenctlError('configuration', `The log's key ${this.#path} cannot be ${doing}: ${why}`, {
      hint: 'Make a key with `tokenctl log init`, or configure the path of the one there is.',
      cause,
    });
  }
}

async function write(
  path: string,
  { text, flags, mode }: { readonly text: string; readonly flags: number; readonly mode: number },
): Promise<void> {
  await using file: FileHandle = await open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | flags, mode);
  await file.writeFile(`${text.trim()}\n`);
  await file.sync();
}
