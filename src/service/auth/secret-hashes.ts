import { createHash, createHmac, pbkdf2, randomBytes, randomInt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';

const derive = promisify(pbkdf2);

const ALGORITHM = 'pbkdf2_sha256';
/** What the controller 24.6.1 uses, so that its rows and the service's are interchangeable. */
const ITERATIONS = 600_000;
const KEY_LENGTH = 32;
const SALT_LENGTH = 22;
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** A stored password in the controller's form: `pbkdf2_sha256$iterations$salt$base64 key`. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomText(SALT_LENGTH);
  const key = await derive(password, salt, ITERATIONS, KEY_LENGTH, 'sha256');
  return `${ALGORITHM}$${ITERATIONS}$${salt}$${key.toString('base64')}`;
}

/**
 * Whether a password is the stored one. It takes as long for a user that does not exist (null), or whose
 * stored password is unusable (it begins with `!`), as for a wrong password: time tells nothing.
 */
export async function verifyPassword(password: string, stored: string | null): Promise<boolean> {
  const parsed = stored === null ? null : parse(stored);
  const { iterations, salt, key } = parsed ?? {
    iterations: ITERATIONS,
    salt: 'x'.repeat(SALT_LENGTH),
    key: null,
  };
  const derived = await derive(password, salt, iterations, KEY_LENGTH, 'sha256');
  return timingSafeEqual(derived, key ?? Buffer.alloc(KEY_LENGTH)) && key !== null;
}

/** A stored password that no password matches; the account logs in by other means or not at all. */
export function unusablePassword(): string {
  return `!${randomText(40)}`;
}

/** Random letters and digits from the system's generator, each equally likely. */
export function randomText(length: number): string {
  return Array.from({ length }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
}

function parse(stored: string): { iterations: number; salt: string; key: Buffer } | null {
  const [algorithm, iterations, salt, encoded] = stored.split('$');
  if (algorithm !== ALGORITHM || salt === undefined || encoded === undefined) return null;
  const key = Buffer.from(encoded, 'base64');
  const rounds = Number(iterations);
  if (key.length !== KEY_LENGTH || !Number.isInteger(rounds) || rounds < 1) return null;
  return { iterations: rounds, salt, key };
}

/** What is stored of a token, refresh token, code or client secret: its SHA-256 in hex. */
export function hashToken(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

/** What is stored of a session id. The controller's column holds 40 characters: 240 bits of the SHA-256. */
export function hashSessionId(sessionId: string): string {
  return createHash('sha256').update(sessionId).digest().subarray(0, 30).toString('base64url');
}

/** Whether two texts are the same, in a time that does not tell where they differ. */
export function sameText(one: string, other: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}

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
