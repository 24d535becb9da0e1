import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TokenctlError } from '../../domain/errors.ts';
import { Secret } from '../../domain/secret.ts';

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
