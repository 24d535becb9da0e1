import { isUtf8 } from 'node:buffer';
import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import { type Environment, replaceFile } from './paths.ts';
import type { DatabaseSetting, SecretReference } from './value-schemas.ts';

/** The bits of a mode that give anyone but the owner access. */
const GROUP_OR_OTHERS = 0o077;
/** The same, except for the group's right to read. */
const MORE_THAN_GROUP_READ = 0o037;
const ROOT = 0;

/** Reads a secret without a trailing line feed. Throws `configuration` if it is missing or others can read it. */
export function readSecret(reference: SecretReference, environment: Environment): Secret {
  return 'env' in reference ? secretOf(environment, reference.env) : secretIn(reference.file, environment);
}

/** A trailing line feed is not part of the secret: a file made by an editor or `echo` has one. */
export function secretFrom(text: string, origin: string): Secret {
  const value = text.replace(/\r?\n$/, '');
  if (value === '') throw new TokenctlError('configuration', `${origin} is empty: it contains no secret.`);
  if (/[\r\n]/.test(value)) {
    throw new TokenctlError(
      'configuration',
      `${origin} contains several lines: a secret must be a single line.`,
    );
  }
  return new Secret(value);
}

function secretOf(environment: Environment, name: string): Secret {
  const value = environment[name];
  if (value) return secretFrom(value, `The variable ${name}`);
  throw new TokenctlError(
    'configuration',
    `The environment variable ${name}, which the configuration uses for a secret, is not set.`,
  );
}

function secretIn(path: string, environment: Environment): Secret {
  return secretFrom(readSecretFile(path, environment), `The secret file ${path}`);
}

/** The text of a secret file. Throws `configuration` if it is missing, not a file, or readable by others. */
export function readSecretFile(path: string, environment: Environment): string {
  const descriptor = openSecret(path);
  try {
    // Checks the opened file, not the path, which could change in between.
    const status = fstatSync(descriptor);
    if (!status.isFile()) throw new TokenctlError('configuration', `The secret file ${path} is not a file.`);
    if (isShared(path, status, environment)) {
      const mode = (status.mode & 0o777).toString(8).padStart(4, '0');
      throw new TokenctlError(
        'configuration',
        `Other users can read the secret file ${path} (mode ${mode})`,
        { hint: `Run: chmod 600 '${path}'. Replace the secret if another user may have read it.` },
      );
    }
    return textOf(readFileSync(descriptor), path);
  } finally {
    closeSync(descriptor);
  }
}

/**
 * The text of a secret file, which other systems write with a byte order mark or in another encoding. Throws
 * `configuration` for an encoding other than UTF-8, which would give a wrong secret.
 */
function textOf(bytes: Buffer, path: string): string {
  const [first, second] = bytes;
  const isUtf16 =
    (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff) || bytes.includes(0);
  if (isUtf16 || !isUtf8(bytes)) {
    const found = isUtf16 ? 'UTF-16, or binary' : 'not UTF-8';
    throw new TokenctlError('configuration', `The secret file ${path} is ${found}.`, {
      hint: 'Save it as UTF-8 text, for example with: iconv -f UTF-16 -t UTF-8',
    });
  }
  return bytes.toString('utf8').replace(/^\ufeff/, '');
}

/**
 * Whether users other than the owner can read a secret file. A file of root in the folder of
 * $CREDENTIALS_DIRECTORY may be readable by its group: systemd stores a service's credentials there with mode
 * 0440, where the group's bits are the mask of an access control list that contains only the service's user,
 * in a folder that no other user can enter (https://systemd.io/CREDENTIALS).
 */
function isShared(path: string, status: Stats, environment: Environment): boolean {
  if (process.platform === 'win32') return false;
  const credentials = environment['CREDENTIALS_DIRECTORY'];
  const isCredential =
    credentials !== undefined && dirname(resolve(path)) === resolve(credentials) && status.uid === ROOT;
  return (status.mode & (isCredential ? MORE_THAN_GROUP_READ : GROUP_OR_OTHERS)) !== 0;
}

function openSecret(path: string): number {
  try {
    // Opening a named pipe would wait for a writer. Windows has no such flag.
    return openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const why = code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`;
    throw new TokenctlError('configuration', `The secret file ${path} ${why}`, {
      hint:
        code === 'ENOENT'
          ? `Check the path, and make sure that only you can read the file (mode 0600).`
          : undefined,
      cause,
    });
  }
}

/** Where {@link storeSecret} stores a context's secret. */
export function storedSecretPath(options: {
  configurationFile: string;
  context: string;
  kind: string;
}): string {
  const { configurationFile, context, kind } = options;
  return join(dirname(configurationFile), 'secrets', `${context}.${kind}`);
}

/**
 * Stores a context's secret in a separate file next to the configuration file, readable only for the owner,
 * and returns its path. An earlier secret of that context is replaced in one step.
 */
export function storeSecret(secret: Secret, place: Parameters<typeof storedSecretPath>[0]): string {
  const path = storedSecretPath(place);
  replaceFile(path, `${secret.reveal()}\n`);
  return path;
}

/** A database's name in messages: its URL if that contains no secret, else the source of the URL. */
export function databaseName(database: DatabaseSetting): string {
  if (typeof database === 'string') return database;
  return 'file' in database ? `with its URL in ${database.file}` : `with its URL in $${database.env}`;
}

/**
 * Reads a database's connection from its configured source: a URL or `service=NAME`. It may contain a
 * password, so it is a secret.
 * @throws TokenctlError `configuration` if it is missing, or if others can read its file
 */
export function databaseConnection(database: DatabaseSetting, environment: Environment): Secret {
  return typeof database === 'string' ? new Secret(database) : readSecret(database, environment);
}
