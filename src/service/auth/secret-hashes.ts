import { pbkdf2, randomInt, timingSafeEqual } from 'node:crypto';
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
