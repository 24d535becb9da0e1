import {
  accessSync,
  closeSync,
  constants,
  fsyncSync,
  lstatSync,
  openSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { TokenctlError } from '../domain/errors.ts';
import type { Secret } from '../domain/secret.ts';

/** A new file, held open for a secret that does not exist yet. */
export interface ReservedFile {
  /**
   * Writes the secret durably and closes the file. Where that fails no file is left: an empty one would
   * stand in the way of the next attempt. Throws what the file system throws.
   */
  fill(secret: Secret): void;
  /** Removes the file: there will be no secret. */
  discard(): void;
}

/**
 * Makes a new file of mode 0600 before the secret is made that goes into it: once a token exists, it
 * must not turn out that there is nowhere to put it.
 *
 * @throws TokenctlError `usage` where the file exists or cannot be made
 */
export function reserveSecretFile(path: string): ReservedFile {
  const descriptor = openNew(path);
  const discard = () => {
    closeSync(descriptor);
    unlinkSync(path);
  };
  return {
    fill(secret) {
      try {
        writeFileSync(descriptor, `${secret.reveal()}\n`);
        fsyncSync(descriptor);
      } catch (error) {
        discard();
        throw error;
      }
      closeSync(descriptor);
    },
    discard,
  };
}

/**
 * Makes sure that {@link reserveSecretFile} could make a file there, and makes nothing: for a rehearsal,
 * and before somebody is asked.
 *
 * @throws TokenctlError `usage`
 */
export function requireNewFile(path: string): void {
  try {
    if (lstatSync(path, { throwIfNoEntry: false }) !== undefined)
      throw cannotCreate(path, { code: 'EEXIST' });
    accessSync(dirname(path), constants.W_OK | constants.X_OK);
  } catch (cause) {
    throw cause instanceof TokenctlError ? cause : cannotCreate(path, cause);
  }
}

function openNew(path: string): number {
  try {
    return openSync(path, 'wx', 0o600);
  } catch (cause) {
    throw cannotCreate(path, cause);
  }
}

function cannotCreate(path: string, cause: unknown): TokenctlError {
  const { code } = cause as NodeJS.ErrnoException;
  const why = code === 'EEXIST' ? 'exists already, and is not overwritten' : `cannot be made (${code})`;
  return new TokenctlError('usage', `The file ${path} ${why}`, {
    hint: 'Name another file with --output',
    cause,
  });
}
