import { createHash, createHmac, hash, pbkdf2, randomBytes, randomInt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';

const derive = promisify(pbkdf2);

const ALGORITHM = 'pbkdf2_sha256';
/** The iterations of new password hashes, as in controller 24.6.1, so that rows are interchangeable. */
export const PASSWORD_ITERATIONS = 600_000;
const KEY_LENGTH = 32;
const SALT_LENGTH = 22;
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** The hash of a password in the controller's form: `pbkdf2_sha256$iterations$salt$base64 key`. */
export async function hashPassword(password: string, iterations = PASSWORD_ITERATIONS): Promise<string> {
  const salt = randomText(SALT_LENGTH);
  const key = await derive(password, salt, iterations, KEY_LENGTH, 'sha256');
  return `${ALGORITHM}$${iterations}$${salt}$${key.toString('base64')}`;
}

/**
 * Whether a password matches the stored hash. A missing user (null), an unusable hash (starts with `!`) and a
 * wrong password take the same time, even if the hash has fewer iterations than usual.
 * @param usual The iterations of new hashes, used for a missing user and an unusable hash.
 */
export async function verifyPassword(
  password: string,
  stored: string | null,
  usual = PASSWORD_ITERATIONS,
): Promise<boolean> {
  const parsed = stored === null ? null : parse(stored);
  const { iterations, salt, key } = parsed ?? { iterations: usual, salt: 'x'.repeat(SALT_LENGTH), key: null };
  const derived = await derive(password, salt, iterations, KEY_LENGTH, 'sha256');
  if (iterations < usual) await derive(password, salt, usual - iterations, KEY_LENGTH, 'sha256');
  return timingSafeEqual(derived, key ?? Buffer.alloc(KEY_LENGTH)) && key !== null;
}

/** A stored hash that no password matches, for accounts without a local password. */
export function unusablePassword(): string {
  return `!${randomText(40)}`;
}

/** Random letters and digits from the system's generator. */
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

/** The stored hash of a token, refresh token, code or client secret: SHA-256 in hex. */
export function hashToken(secret: string): string {
  return hash('sha256', secret);
}

/** The stored hash of a session id: 240 bits of the SHA-256, for the controller's column of 40 characters. */
export function hashSessionId(sessionId: string): string {
  return createHash('sha256').update(sessionId).digest().subarray(0, 30).toString('base64url');
}

/** Whether two texts are equal, in constant time. */
export function sameText(one: string, other: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}

const LIFETIME_MS = 60_000;
const CAPACITY = 10_000;

/**
 * Caches successful password checks for a minute, because Basic authentication (RFC 7617) sends the password
 * with every request and each check computes a slow hash.
 *
 * A cache key is an HMAC of the stored hash and the password, under a key that never leaves the process. A
 * changed password changes the stored hash and misses the cache. The caller checks on every request that the
 * user is active and Basic authentication is on. Wrong passwords are not cached: each costs the full hash.
 */
export class CredentialCache {
  readonly #key = randomBytes(32);
  readonly #expiry = new Map<string, number>();
  readonly #checks = new Map<string, Promise<boolean>>();

  /** Whether this password matched this stored hash within the last minute. */
  has(stored: string, password: string): boolean {
    const entry = this.#digest(stored, password);
    const until = this.#expiry.get(entry);
    if (until === undefined) return false;
    if (until > performance.now()) return true;
    this.#expiry.delete(entry);
    return false;
  }

  add(stored: string, password: string): void {
    if (this.#expiry.size >= CAPACITY) this.#deleteOldest();
    this.#expiry.set(this.#digest(stored, password), performance.now() + LIFETIME_MS);
  }

  /**
   * Runs a check of a password. Concurrent requests with the same password wait for its result, so a client
   * with many requests is checked once and counts as one attempt.
   * @param presented What distinguishes the checks, apart from the password. It must be the same for existing
   * and unknown names: the number of counted attempts must not distinguish them.
   */
  shared(presented: readonly string[], password: string, check: () => Promise<boolean>): Promise<boolean> {
    const entry = this.#digest(JSON.stringify(presented), password);
    const running = this.#checks.get(entry) ?? check().finally(() => this.#checks.delete(entry));
    this.#checks.set(entry, running);
    return running;
  }

  #deleteOldest(): void {
    const oldest = this.#expiry.keys().next();
    if (!oldest.done) this.#expiry.delete(oldest.value);
  }

  #digest(stored: string, password: string): string {
    return createHmac('sha256', this.#key).update(stored).update('\0').update(password).digest('base64');
  }
}
