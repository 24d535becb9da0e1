import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { TokenctlError } from '../domain/errors.ts';
import { Secret } from '../domain/secret.ts';
import { type Environment, replaceFile } from './paths.ts';
import type { DatabaseSetting, SecretReference } from './value-schemas.ts';

/** Bits of a mode that let anybody but the owner in. */
const GROUP_OR_OTHERS = 0o077;

/**
 * Reads a secret from where the configuration says it is. A line feed at its end is not part of it.
 *
 * @throws TokenctlError `configuration` if it is missing, or if others can read its file
 */
export function readSecret(reference: SecretReference, environment: Environment): Secret {
  return 'env' in reference ? secretOf(environment, reference.env) : secretIn(reference.file);
}

/** The first line feed ends it: a file made by an editor or `echo` has one. */
export function secretFrom(text: string, origin: string): Secret {
  const value = text.replace(/\r?\n$/, '');
  if (value === '') throw new TokenctlError('configuration', `${origin} is empty: there is no secret in it.`);
  if (/[\r\n]/.test(value)) {
    throw new TokenctlError('configuration', `${origin} holds several lines: a secret is one line.`);
  }
  return new Secret(value);
}

function secretOf(environment: Environment, name: string): Secret {
  const value = environment[name];
  if (value) return secretFrom(value, `The variable ${name}`);
  throw new TokenctlError(
    'configuration',
    `The environment has no ${name}, which the configuration takes a secret from.`,
  );
}

function secretIn(path: string): Secret {
  const descriptor = openSecret(path);
  try {
    // Check the opened file, not the path, which could change in between.
    const status = fstatSync(descriptor);
    if (!status.isFile()) throw new TokenctlError('configuration', `The secret file ${path} is not a file.`);
    if (process.platform !== 'win32' && (status.mode & GROUP_OR_OTHERS) !== 0) {
      const mode = (status.mode & 0o777).toString(8).padStart(4, '0');
      throw new TokenctlError(
        'configuration',
        `Other users can read the secret file ${path} (mode ${mode})`,
        {
          hint: `chmod 600 '${path}', and replace the secret if others may have read it.`,
        },
      );
    }
    return secretFrom(readFileSync(descriptor, 'utf8'), `The secret file ${path}`);
  } finally {
    closeSync(descriptor);
  }
}

function openSecret(path: string): number {
  try {
    return openSync(path, 'r');
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const why = code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`;
    throw new TokenctlError('configuration', `The secret file ${path} ${why}.`, { cause });
  }
}

/**
 * Keeps a secret of a context in a file of its own, which only the owner can read, beside the
 * configuration file. An earlier secret of that context is replaced in one step.
 *
 * @returns the file's path
 */
export function storeSecret(
  secret: Secret,
  { configurationFile, context, kind }: { configurationFile: string; context: string; kind: string },
): string {
  const path = join(dirname(configurationFile), 'secrets', `${context}.${kind}`);
  replaceFile(path, `${secret.reveal()}\n`);
  return path;
}

/** A database as messages name it: its URL where that holds no secret, else where its URL is. */
export function databaseName(database: DatabaseSetting): string {
  if (typeof database === 'string') return database;
  return 'file' in database ? `whose URL is in ${database.file}` : `whose URL is in $${database.env}`;
}

/**
 * Reads how a database is reached from where the configuration says it is: a URL or `service=NAME`, which
 * may hold a password and so travels as a secret.
 *
 * @throws TokenctlError `configuration` if it is missing, or if others can read its file
 */
export function databaseConnection(database: DatabaseSetting, environment: Environment): Secret {
  return typeof database === 'string' ? new Secret(database) : readSecret(database, environment);
}
