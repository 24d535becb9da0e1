import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TokenctlError } from '../../domain/errors.ts';
import { Secret } from '../../domain/secret.ts';

/** What the API shows in the place of a secret setting; written back, it keeps the secret. */
export const MASK = '$encrypted$';

const PREFIX = `${MASK}AES256GCM$`;
const CIPHER = 'aes-256-gcm';
const IV_LENGTH = 12;
const TAG_LENGTH = 16;

/** Encrypts the settings that are secret (AES-256-GCM), so that the database alone gives none away. */
export class SecretBox {
  readonly #key: Uint8Array | null;

  /** @param key At least 32 random characters; null where there is none, and then nothing can be kept. */
  constructor(key: Secret | null) {
    this.#key =
      key === null
        ? null
        : new Uint8Array(hkdfSync('sha256', key.reveal(), '', 'tokenctl service settings', 32));
  }

  /** Whether there is a key. */
  get usable(): boolean {
    return this.#key !== null;
  }

  /** Encrypts the value of a setting. It can be opened under the name of that setting only. */
  seal(setting: string, value: string): string {
    if (this.#key === null) throw new Error('a secret was to be kept without a key');
    const iv = randomBytes(IV_LENGTH);
    const cipher = createCipheriv(CIPHER, this.#key, iv).setAAD(Buffer.from(setting));
    const sealed = Buffer.concat([cipher.update(value, 'utf8'), cipher.final()]);
    return `${PREFIX}${Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url')}`;
  }

  /** The value of a setting, or null where it was sealed with another key or changed since. */
  open(setting: string, stored: string): string | null {
    if (this.#key === null || !stored.startsWith(PREFIX)) return null;
    const bytes = Buffer.from(stored.slice(PREFIX.length), 'base64url');
    if (bytes.length < IV_LENGTH + TAG_LENGTH) return null;
    const decipher = createDecipheriv(CIPHER, this.#key, bytes.subarray(0, IV_LENGTH), {
      authTagLength: TAG_LENGTH,
    });
    decipher.setAAD(Buffer.from(setting));
    decipher.setAuthTag(bytes.subarray(IV_LENGTH, IV_LENGTH + TAG_LENGTH));
    try {
      const opened = decipher.update(bytes.subarray(IV_LENGTH + TAG_LENGTH));
      return Buffer.concat([opened, decipher.final()]).toString('utf8');
    } catch {
      return null;
    }
  }
}

const SHORTEST_KEY = 32;

/**
 * The key that secret settings are encrypted with: the one given, or with the embedded database one of its
 * own, made at the first start and kept in the data folder. On PostgreSQL, which replicas share, it must be
 * given; null where it is not.
 *
 * @throws TokenctlError `configuration` for a key that is short, or whose file cannot be used.
 */
export async function secretKey(
  given: Secret | undefined,
  database: { readonly url: Secret } | { readonly folder: string | null },
): Promise<Secret | null> {
  if (given !== undefined) {
    if (given.reveal().length >= SHORTEST_KEY) return given;
    throw new TokenctlError('configuration', `The secret key has fewer than ${SHORTEST_KEY} characters`, {
      hint: 'Make one with: openssl rand -base64 32',
    });
  }
  if ('url' in database) return null;
  const made = new Secret(randomBytes(32).toString('base64url'));
  return database.folder === null ? made : keyIn(join(database.folder, 'secret-key'), made);
}

async function keyIn(path: string, made: Secret): Promise<Secret> {
  try {
    await writeFile(path, `${made.reveal()}\n`, { mode: 0o600, flag: 'wx' });
    return made;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw unusable(path, cause);
  }
  try {
    const key = readFileSync(path, 'utf8').trim();
    if (key.length >= SHORTEST_KEY) return new Secret(key);
  } catch (cause) {
    throw unusable(path, cause);
  }
  throw unusable(path, undefined);
}

function unusable(path: string, cause: unknown): TokenctlError {
  return new TokenctlError('configuration', `The key in ${path} cannot be used`, {
    cause,
    hint: 'Put it back from a copy. Without it the secrets among the settings have to be set again.',
  });
}
