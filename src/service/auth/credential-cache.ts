import { createHmac, randomBytes } from 'node:crypto';

const LIFETIME_MS = 60_000;
const CAPACITY = 10_000;

/**
 * Remembers for a minute that a password was right, so that Basic authentication (RFC 7617), which sends
 * it with every request, does not cost a slow hash each time.
 *
 * What it keeps is an HMAC, under a key that never leaves the process, of the stored hash and the password
 * presented: changing the password changes the stored hash and so misses. Whether the user is active and
 * whether Basic authentication is on is asked of the database on every request and is none of its business.
 * Wrong passwords are never remembered: each costs the full hash.
 */
export class CredentialCache {
  readonly #key = randomBytes(32);
  readonly #until = new Map<string, number>();

  /** Whether this password was verified against this stored hash within the last minute. */
  has(stored: string, password: string): boolean {
    const entry = this.#digest(stored, password);
    const until = this.#until.get(entry);
    if (until === undefined) return false;
    if (until > performance.now()) return true;
    this.#until.delete(entry);
    return false;
  }

  /** Remembers a verification that succeeded just now. */
  add(stored: string, password: string): void {
    if (this.#until.size >= CAPACITY) this.#forgetOldest();
    this.#until.set(this.#digest(stored, password), performance.now() + LIFETIME_MS);
  }

  #forgetOldest(): void {
    const oldest = this.#until.keys().next();
    if (!oldest.done) this.#until.delete(oldest.value);
  }

  #digest(stored: string, password: string): string {
    return createHmac('sha256', this.#key).update(stored).update('\0').update(password).digest('base64');
  }
}
