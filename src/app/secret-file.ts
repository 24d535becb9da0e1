import {
  accessSync,
  closeSync,
  constants,
  fsyncSync,
  ftruncateSync,
  lstatSync,
  openSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Secret } from '@tokenctl/common/secret.ts';

/** A new, empty file for a secret that does not exist yet. */
export interface ReservedFile {
  /** Writes the secret durably and closes the file, or removes it on failure. Throws the file system's error. */
  fill(secret: Secret): void;
  /** Removes the file, because there will be no secret. */
  discard(): void;
}

/** Placeholder lines for the secret: on a full disk, an empty file could be created but no secret stored. */
const ROOM = Buffer.alloc(4096, '\n');

/**
 * Creates a file with mode 0600 before its secret is created, and reserves disk space, so that a new token
 * always has a place to be stored. Throws `usage` if the file exists or cannot be created.
 */
export function reserveSecretFile(path: string): ReservedFile {
  const descriptor = openNew(path);
  const discard = () => {
    closeSync(descriptor);
    unlinkSync(path);
  };
  try {
    writeSync(descriptor, ROOM, 0, ROOM.length, 0);
    fsyncSync(descriptor);
  } catch (cause) {
    discard();
    throw cannotCreate(path, cause);
  }
  return {
    fill(secret) {
      try {
        const text = Buffer.from(`${secret.reveal()}\n`);
        // In place, so that the space stays reserved until the secret is written.
        writeFully(descriptor, text);
        ftruncateSync(descriptor, text.length);
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
 * Creates a secret and writes it to a new file, which exists before the secret does. `lost` is the error for
 * a secret whose value could not be written. Throws `usage` if the file exists or cannot be created; and as
 * `make`, without leaving a file.
 */
export async function intoSecretFile<Made>(
  path: string,
  options: {
    make: () => Promise<Made>;
    secretOf: (made: Made) => Secret;
    lost: (made: Made, cause: unknown) => TokenctlError;
  },
): Promise<Made> {
  const { make, secretOf, lost } = options;
  const file = reserveSecretFile(path);
  let made: Made;
  try {
    made = await make();
  } catch (error) {
    file.discard();
    throw error;
  }
  try {
    file.fill(secretOf(made));
  } catch (cause) {
    throw lost(made, cause);
  }
  return made;
}

/** Writes a secret to a new file with mode 0600. Throws `usage` if it exists or cannot be written. */
export function writeSecretFile(path: string, secret: Secret): void {
  const file = reserveSecretFile(path);
  try {
    file.fill(secret);
  } catch (cause) {
    const { code = 'unknown' } = cause as NodeJS.ErrnoException;
    throw new TokenctlError('usage', `Cannot write to the file ${path} (${code})`, { cause });
  }
}

/** Checks that {@link reserveSecretFile} could create the file, for a dry run or a confirmation. Throws `usage`. */
export function requireNewFile(path: string): void {
  try {
    if (lstatSync(path, { throwIfNoEntry: false }) !== undefined)
      throw cannotCreate(path, { code: 'EEXIST' });
    accessSync(dirname(path), constants.W_OK | constants.X_OK);
  } catch (cause) {
    throw cause instanceof TokenctlError ? cause : cannotCreate(path, cause);
  }
}

/** Writes a new file that others may read. Throws `usage` if it exists or cannot be written. */
export function writeNewFile(path: string, text: string): void {
  try {
    writeFileSync(path, text, { flag: 'wx', mode: 0o644, flush: true });
  } catch (cause) {
    throw cannotCreate(path, cause);
  }
}

function writeFully(descriptor: number, text: Buffer): void {
  for (let done = 0; done < text.length; )
    done += writeSync(descriptor, text, done, text.length - done, done);
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
  const why = code === 'EEXIST' ? 'already exists and is not overwritten' : `cannot be created (${code})`;
  return new TokenctlError('usage', `The file ${path} ${why}`, {
    hint: code === 'ENOSPC' ? 'Free some disk space.' : 'Specify another file with --output',
    cause,
  });
}
