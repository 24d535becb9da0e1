import { closeSync, fsyncSync, openSync, unlinkSync, writeSync } from 'node:fs';
import { TokenctlError } from '../core/errors.ts';
import type { Secret } from '../core/secret.ts';

/** A new file, held open for a secret that does not exist yet. */
export interface ReservedFile {
  /** Writes the secret durably and closes the file. Throws what the file system throws. */
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
  return {
    fill(secret) {
      writeSync(descriptor, `${secret.reveal()}\n`);
      fsyncSync(descriptor);
      closeSync(descriptor);
    },
    discard() {
      closeSync(descriptor);
      unlinkSync(path);
    },
  };
}

function openNew(path: string): number {
  try {
    return openSync(path, 'wx', 0o600);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const why = code === 'EEXIST' ? 'exists already, and is not overwritten' : `cannot be made (${code})`;
    throw new TokenctlError('usage', `The file ${path} ${why}`, {
      hint: 'Name another file with --output',
      cause,
    });
  }
}
