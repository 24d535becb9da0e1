import { TokenctlError } from './errors.ts';
import { isIncluded } from './merkle-tree.ts';
import type { NoteSigner, NoteVerifier } from './note-key.ts';

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
 * @throws TokenctlError `configuration` for an invalid checkpoint, `log_broken` if no known key signed it or it belongs to
 * another log.
 */
export function openCheckpoint(note: string, verifiers: readonly NoteVerifier[]): Checkpoint {
  const { text, signers } = openNote(note, verifiers);
  const [origin = '', size = '', root = ''] = text.split('\n');
  const bytes = Buffer.from(root, 'base64');
  const isHead = /^(0|[1-9]\d{0,14})$/.test(size) && bytes.length === HASH_LENGTH;
  if (origin === '' || !isHead || bytes.toString('base64') !== root) {
    throw new TokenctlError('configuration', 'The note is not a checkpoint', {
      hint: 'Give a checkpoint: three lines with the name of the log, the number of entries, and a hash in base64.',
    });
  }
  if (!signers.some(({ name }) => name === origin)) {
    throw new TokenctlError('log_broken', `The checkpoint belongs to another log: ${origin}`, {
      hint: 'Give the checkpoint of this log and the public key with the same name.',
    });
  }
  return { origin, size: Number(size), root: bytes };
}

// Signed notes, as of https://c2sp.org/signed-note: a text, an empty line, and a line for each signature.

/** A note whose signature was verified. */
interface OpenedNote {
  /** With its final line feed. */
  readonly text: string;
  /** The known keys that signed it: at least one. */
  readonly signers: readonly NoteVerifier[];
}

/** More signatures are not looked at: a note of any length must not keep the verifier busy. */
const MAX_SIGNATURES = 100;

/**
 * Signs a text that ends with a line feed.
 *
 * @param signers One signature line each, in their order.
 */
export function signNote(text: string, signers: readonly NoteSigner[]): string {
  const lines = signers.map(({ sign, verifier }) => {
    const signature = Buffer.concat([verifier.id, sign(text)]).toString('base64');
    return `— ${verifier.name} ${signature}\n`;
  });
  return `${text}\n${lines.join('')}`;
}

/**
 * Verifies a note. Signatures of keys that are not known are ignored; one of a known key that does not
 * verify refuses the whole note.
 *
 * @throws TokenctlError `configuration` where it is no note, `log_broken` where no known key signed it.
 */
export function openNote(note: string, verifiers: readonly NoteVerifier[]): OpenedNote {
  const end = note.lastIndexOf('\n\n');
  const text = note.slice(0, end + 1);
  const lines = note.slice(end + 2).split('\n');
  const isNote = end > 0 && lines.pop() === '' && lines.length > 0 && lines.length <= MAX_SIGNATURES;
  if (!isNote || !note.isWellFormed() || /(?!\n)\p{Cc}/u.test(note)) throw invalidNote();
  const signers = verifiersOf(lines, { text, verifiers });
  if (signers.length === 0) {
    throw new TokenctlError('log_broken', `The note has no signature by ${namesOf(verifiers)}`, {
      hint: 'Get the public key from the administrator of the log, through another channel than the note.',
    });
  }
  return { text, signers };
}

function verifiersOf(
  lines: readonly string[],
  { text, verifiers }: { readonly text: string; readonly verifiers: readonly NoteVerifier[] },
): NoteVerifier[] {
  const signers = new Set<NoteVerifier>();
  for (const line of lines) {
    const [, name, encoded = ''] = /^— ([^\s+]+) ([A-Za-z0-9+/]+={0,2})$/.exec(line) ?? [];
    const bytes = Buffer.from(encoded, 'base64');
    if (name === undefined || bytes.length < 5) throw invalidNote();
    const known = verifiers.find((each) => each.name === name && each.id.equals(bytes.subarray(0, 4)));
    if (known === undefined) continue;
    if (!known.isSignedBy(text, bytes.subarray(4))) {
      throw new TokenctlError('log_broken', `The signature of ${name} does not match the note`, {
        hint: 'The note was changed after it was signed. Get the original again.',
      });
    }
    signers.add(known);
  }
  return [...signers];
}

function namesOf(verifiers: readonly NoteVerifier[]): string {
  return verifiers.map(({ name, id }) => `${name} (${id.toString('hex')})`).join(', ');
}

function invalidNote(): TokenctlError {
  return new TokenctlError('configuration', 'Not a signed note', {
    hint: 'Give a checkpoint: three lines of text, an empty line, and signature lines that begin with a dash (—).',
  });
}

/** The first line of a proof (https://c2sp.org/tlog-proof). */
const FORM = 'c2sp.org/tlog-proof@v1';

/** What is put into a proof. */
interface ProofParts {
  /** The leaf's index, from 0. */
  readonly index: number;
  /** From the leaf's neighbour up to the root's child. */
  readonly path: readonly Buffer[];
  /** The signed checkpoint. */
  readonly checkpoint: string;
}

/** Writes a proof, which can be verified with the leaf and the public key. */
export function proofText({ index, path, checkpoint }: ProofParts): string {
  const hashes = path.map((hash) => `${hash.toString('base64')}\n`).join('');
  return `${FORM}\nindex ${index}\n${hashes}\n${checkpoint}`;
}

/** A proof with what it is about. */
interface Proof {
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
    throw new TokenctlError('configuration', 'Not a proof of inclusion', {
      hint: `Create a proof with \`tokenctl log prove\`. Its first line is ${FORM}.`,
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
      hint: 'Give the exact bytes of the entry in the log, without the line feed.',
    });
  }
  return { index: Number(index), checkpoint };
}
