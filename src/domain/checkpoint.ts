import { TokenctlError } from './errors.ts';
import type { NoteSigner, NoteVerifier } from './note-key.ts';
import { openNote, signNote } from './signed-note.ts';

/** What a checkpoint says of a log (https://c2sp.org/tlog-checkpoint). */
export interface Checkpoint {
  /** Which log: the name of the key that signs for it. */
  readonly origin: string;
  /** How many entries. */
  readonly size: number;
  /** The hash of the Merkle tree of these entries: 32 bytes. */
  readonly root: Buffer;
}

const HASH_LENGTH = 32;

/**
 * Signs what a log is, with one key or, where a key hands over to another, several of one name.
 *
 * @returns The note.
 */
export function signCheckpoint(
  head: Omit<Checkpoint, 'origin'>,
  signers: readonly [NoteSigner, ...NoteSigner[]],
): string {
  const { name } = signers[0].verifier;
  return signNote(`${name}\n${head.size}\n${head.root.toString('base64')}\n`, signers);
}

/**
 * Verifies a checkpoint and reads it. Lines behind the root hash are allowed, and nothing is read from them.
 *
 * @throws TokenctlError `configuration` where it is none, `log_broken` where no known key signed it or it
 * speaks of another log than the key's.
 */
export function openCheckpoint(note: string, verifiers: readonly NoteVerifier[]): Checkpoint {
  const { text, signers } = openNote(note, verifiers);
  const [origin = '', size = '', root = ''] = text.split('\n');
  const bytes = Buffer.from(root, 'base64');
  const isHead = /^(0|[1-9]\d{0,14})$/.test(size) && bytes.length === HASH_LENGTH;
  if (origin === '' || !isHead || bytes.toString('base64') !== root) {
    throw new TokenctlError('configuration', 'The note is no checkpoint', {
      hint: 'A checkpoint says the name of the log, the number of entries, and a hash in base64, a line each.',
    });
  }
  if (!signers.some(({ name }) => name === origin)) {
    throw new TokenctlError('log_broken', `The checkpoint is of another log: ${origin}`, {
      hint: 'Give the checkpoint of this log, and the public key of that name.',
    });
  }
  return { origin, size: Number(size), root: bytes };
}
