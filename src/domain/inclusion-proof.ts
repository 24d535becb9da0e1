import { type Checkpoint, openCheckpoint } from './checkpoint.ts';
import { TokenctlError } from './errors.ts';
import { isIncluded } from './merkle-tree.ts';
import type { NoteVerifier } from './note-key.ts';

/** The first line of a proof (https://c2sp.org/tlog-proof). */
const FORM = 'c2sp.org/tlog-proof@v1';

/** What is put into a proof. */
export interface ProofParts {
  /** The leaf's index, from 0. */
  readonly index: number;
  /** From the leaf's neighbour up to the root's child. */
  readonly path: readonly Buffer[];
  /** The signed checkpoint. */
  readonly checkpoint: string;
}

/** Writes a proof that whoever has the leaf, the proof and the public key can verify. */
export function proofText({ index, path, checkpoint }: ProofParts): string {
  const hashes = path.map((hash) => `${hash.toString('base64')}\n`).join('');
  return `${FORM}\nindex ${index}\n${hashes}\n${checkpoint}`;
}

/** A proof with what it is about. */
export interface Proof {
  readonly proof: string;
  /** What is said to be in the log: an entry's line without its line feed. */
  readonly leaf: Uint8Array;
  readonly verifiers: readonly NoteVerifier[];
}

/**
 * Verifies that a leaf is in the log of a checkpoint.
 *
 * @returns Its index from 0, and the checkpoint.
 * @throws TokenctlError `configuration` where the text is no proof, `log_broken` where it proves nothing.
 */
export function verifyProof({ proof, leaf, verifiers }: Proof): {
  readonly index: number;
  readonly checkpoint: Checkpoint;
} {
  const parts = /^c2sp\.org\/tlog-proof@v1\n(?:extra \S+\n)?index (0|[1-9]\d{0,14})\n((?:\S+\n)*)\n/.exec(
    proof,
  );
  if (parts === null) {
    throw new TokenctlError('configuration', 'This is no proof of inclusion', {
      hint: `A proof begins with the line ${FORM}, as \`tokenctl log prove\` writes it.`,
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
      hint: 'Give the entry as it stands in the log, byte for byte, without the line feed.',
    });
  }
  return { index: Number(index), checkpoint };
}
