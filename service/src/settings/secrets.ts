import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { Secret } from '@tokenctl/common/secret.ts';

/** Shown instead of a secret setting. Writing it back keeps the secret. */
export const MASK = '$encrypted$';

const PREFIX = `${MASK}AES256GCM$`;
const CIPHER = 'aes-256-gcm';
const IV_LENGTH = 12;
const TAG_LENGTH = 16;

/** Encrypts secret settings (AES-256-GCM), so that a copy of the database does not reveal them. */
export class SecretBox {
  readonly #key: Uint8Array | null;
  /** Part of the key that signs device cookies: derived from the key, or a constant if there is none. */
  readonly deviceKey: Uint8Array;

  /** @param key At least 32 random characters. Without a key, secrets cannot be stored. */
  constructor(key: Secret | null) {
    const derive = (purpose: string) =>
      new Uint8Array(hkdfSync('sha256', key?.reveal() ?? '', '', `tokenctl service ${purpose}`, 32));
    this.#key = key === null ? null : derive('settings');
    this.deviceKey = derive('device cookies');
  }

  get usable(): boolean {
    return this.#key !== null;
  }

  /** Encrypts the value of a setting. It can be decrypted only under that setting's name. */
  seal(setting: string, value: string): string {
    if (this.#key === null) throw new Error('cannot encrypt a secret without a key');
    const iv = randomBytes(IV_LENGTH);
    const cipher = createCipheriv(CIPHER, this.#key, iv).setAAD(Buffer.from(setting));
    const sealed = Buffer.concat([cipher.update(value, 'utf8'), cipher.final()]);
    return `${PREFIX}${Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url')}`;
  }

  /** Decrypts the value of a setting; null if it was encrypted with another key or modified. */
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

const MIN_KEY_LENGTH = 32;

/**
 * The key that encrypts secret settings: the given one, or with the embedded database a key that is generated
 * at the first start and kept in the data folder. On PostgreSQL, which replicas share, a key must be given;
 * null if it is not.
 * @throws TokenctlError `configuration` if the key is too short or its file is unusable.
 */
export async function secretKey(
  given: Secret | undefined,
  database: { readonly url: Secret } | { readonly folder: string | null },
): Promise<Secret | null> {
  if (given !== undefined) {
    if (given.reveal().length >= MIN_KEY_LENGTH) return given;
    throw new TokenctlError('configuration', `The secret key has fewer than ${MIN_KEY_LENGTH} characters`, {
      hint: 'Generate one with: openssl rand -base64 32',
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
    if (key.length >= MIN_KEY_LENGTH) return new Secret(key);
  } catch (cause) {
    throw unusable(path, cause);
  }
  throw unusable(path, undefined);
}

function unusable(path: string, cause: unknown): TokenctlError {
  return new TokenctlError('configuration', `Invalid key file: ${path}`, {
    cause,
    hint: 'Restore it from a backup, or delete it and set the secret settings again.',
  });
}
