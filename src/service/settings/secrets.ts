import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import type { Secret } from '../../domain/secret.ts';

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
