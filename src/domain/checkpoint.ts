import { TokenctlError } from '@tokenctl/common/errors.ts';
import { isIncluded } from './merkle-tree.ts';
import { type NoteSigner, type NoteVerifier, openNote, signNote } from './note-key.ts';

/** The statement of a checkpoint about a log (https://c2sp.org/tlog-checkpoint). */
export interface Checkpoint {
  /** The log, identified by the name of its signing key. */
  readonly origin: string;
  readonly size: number;
  /** The hash of the Merkle tree of these entries: 32 bytes. */
  readonly root: Buffer;
}

const HASH_LENGTH = 32;

/** Signs a checkpoint with one key, or with several of one name during a key rotation; returns the note. */
export function signCheckpoint(
  head: Omit<Checkpoint, 'origin'>,
  signers: readonly [NoteSigner, ...NoteSigner[]],
): string {
  const { name } = signers[0].verifier;
  return signNote(`${name}\n${head.size}\n${head.root.toString('base64')}\n`, signers);
}

/**
 * Verifies and parses a checkpoint. Lines after the root hash are allowed and ignored.
 * @throws TokenctlError `configuration` for an invalid checkpoint, `log_broken` if no known key signed it or
 * it belongs to another log.
 */
export function openCheckpoint(note: string, verifiers: readonly NoteVerifier[]): Checkpoint {
  const { text, signers } = openNote(note, verifiers);
  const [origin = '', size = '', root = ''] = text.split('\n');
  const bytes = Buffer.from(root, 'base64');
  const isHead = /^(0|[1-9]\d{0,14})$/.test(size) && bytes.length === HASH_LENGTH;
  if (origin === '' || !isHead || bytes.toString('base64') !== root) {
    throw new TokenctlError('configuration', 'The note is not a checkpoint', {
      hint: 'Specify a checkpoint: three lines with the name of the log, the number of entries, and a hash in base64.',
    });
  }
  if (!signers.some(({ name }) => name === origin)) {
    throw new TokenctlError('log_broken', `The checkpoint belongs to another log: ${origin}`, {
      hint: 'Specify the checkpoint of this log and the public key with the same name.',
    });
  }
  return { origin, size: Number(size), root: bytes };
}

/** The first line of a proof (https://c2sp.org/tlog-proof). */
const FORM = 'c2sp.org/tlog-proof@v1';

interface ProofParts {
  /** The leaf's index, from 0. */
  readonly index: number;
  /** From the leaf's sibling up to the root's child. */
  readonly path: readonly Buffer[];
  readonly checkpoint: string;
}

/** Formats a proof, which can be verified with the leaf and the public key. */
export function proofText({ index, path, checkpoint }: ProofParts): string {
  const hashes = path.map((hash) => `${hash.toString('base64')}\n`).join('');
  return `${FORM}\nindex ${index}\n${hashes}\n${checkpoint}`;
}

interface Proof {
  readonly proof: string;
  /** The leaf to prove: an entry's line without its line feed. */
  readonly leaf: Uint8Array;
  readonly verifiers: readonly NoteVerifier[];
}

/**
 * Verifies that a leaf is in the log of a checkpoint; returns its index, from 0, and the checkpoint. Throws
 * `configuration` if the text is not a proof, `log_broken` if the proof is invalid.
 */
export function verifyProof({ proof, leaf, verifiers }: Proof): {
  readonly index: number;
  readonly checkpoint: Checkpoint;
} {
  const parts = /^c2sp\.org\/tlog-proof@v1\n(?:extra \S+\n)?index (0|[1-9]\d{0,14})\n((?:\S+\n)*)\n/.exec(
    proof,
  );
  if (parts === null) {
    throw new TokenctlError('configuration', 'Not a proof of inclusion', {
      hint: `Create a proof with \`tokenctl log prove\`. The first line must be ${FORM}.`,
    });
  }
  const [head, index = '', hashes = ''] = parts;
  const checkpoint = openCheckpoint(proof.slice(head.length), verifiers);
  const path = hashes
    .split('\n')
    .slice(0, -1)
    .map((hash) => Buffer.from(hash, 'base64'));
  const { size, root } = checkpoint;
  if (!isIncluded({ leaf, index: Number(index), size, root, path })) {
    throw new TokenctlError('log_broken', 'The proof does not show that this entry is in the log', {
      hint: 'Use the exact bytes of the entry in the log, without the line feed.',
    });
  }
  return { index: Number(index), checkpoint };
}
