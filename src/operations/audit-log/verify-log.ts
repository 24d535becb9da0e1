import { TokenctlError } from '@tokenctl/common/errors.ts';
import { type Checkpoint, openCheckpoint } from '../../domain/checkpoint.ts';
import { emptyTree, MerkleTree, type TreeState } from '../../domain/merkle-tree.ts';
import { parseVerifier } from '../../domain/note-key.ts';
import type { AuditLog, LogObserver, LogVerification } from '../ports/audit-log.ts';

export interface VerifiedLog extends Omit<LogVerification, 'break'> {
  readonly checkpoint?: Pick<Checkpoint, 'origin' | 'size'>;
}

interface VerifyLogOptions {
  readonly log: Pick<AuditLog, 'verify'>;
  /** An earlier checkpoint: a signed note. */
  readonly checkpoint?: {
    readonly note: string;
    /** The trusted public keys, as `name+id+key`. */
    readonly keys: readonly string[];
  };
}

/**
 * Reads the whole audit log and checks that every entry follows from the entry before. With a checkpoint,
 * also checks that the entries it covers were not cut off or rewritten.
 * @throws TokenctlError `log_broken` with details `{ line, file?, seq, expected, problem, entries }`, or for
 * a `cut-off` or `rewritten` log `{ problem, entries, size }`; `configuration` for an invalid checkpoint or
 * key; `audit_unavailable` if the log cannot be read.
 */
export async function verifyLog({ log, checkpoint }: VerifyLogOptions): Promise<VerifiedLog> {
  if (checkpoint === undefined) return requireIntact(await log.verify());
  const head = openCheckpoint(checkpoint.note, checkpoint.keys.map(parseVerifier));
  const tree = new LogTree({ mark: head.size });
  const verified = requireIntact(await log.verify(tree));
  requireCheckpoint(head, tree);
  return { ...verified, checkpoint: { origin: head.origin, size: head.size } };
}

/** The result of a verification without a break. Throws `log_broken` if there is one. */
export function requireIntact({ break: broken, ...verified }: LogVerification): VerifiedLog {
  if (broken === null) return verified;
  const { line, file, seq, expected, problem, message } = broken;
  const where = file === undefined ? `line ${line}` : `line ${line} of ${file}`;
  throw new TokenctlError('log_broken', `The audit log is broken at ${where}: ${message}`, {
    hint: 'Leave the log unchanged, and compare it with a backup or an earlier checkpoint.',
    details: { line, ...(file !== undefined && { file }), seq, expected, problem, entries: verified.entries },
  });
}

/** Checks that the tree of a log, marked at a checkpoint's size, matches it. Throws `log_broken`. */
export function requireCheckpoint({ size, root }: Checkpoint, { tree, markedRoot }: LogTree): void {
  if (markedRoot?.equals(root) === true) return;
  const entries = tree.size;
  if (entries < size) {
    throw new TokenctlError(
      'log_broken',
      `The audit log was cut off: it ends at entry ${entries}, but the checkpoint covers ${size} entries`,
      { hint: 'Restore the missing entries from a backup.', details: { problem: 'cut-off', entries, size } },
    );
  }
  if (markedRoot === null) {
    throw new TokenctlError(
      'log_broken',
      `The audit log starts after entry ${size}, the last entry that the checkpoint covers`,
      {
        hint: 'Use a later checkpoint, or put the removed files next to the log.',
        details: { problem: 'removed', entries, size },
      },
    );
  }
  throw new TokenctlError(
    'log_broken',
    `The audit log was rewritten: entries 1 to ${size} do not match the checkpoint`,
    {
      hint: 'Compare the log with a backup. The first entry that differs was edited, and all entries after it were rewritten.',
      details: { problem: 'rewritten', entries, size },
    },
  );
}

interface LogTreeOptions {
  /** The tree size whose root is kept. */
  readonly mark?: number | undefined;
  readonly prove?: number | undefined;
}

/** The Merkle tree of the entries of a log, built while the log is verified. */
export class LogTree implements LogObserver {
  readonly #mark: number | undefined;
  readonly #prove: number | undefined;
  #tree: MerkleTree;
  /** The root at the marked size; null until it is reached. */
  markedRoot: Buffer | null = null;
  /** The inclusion proof of the entry in the tree of the marked size. */
  path: readonly Buffer[] | null = null;
  /** The line of the entry to prove. */
  leaf: Buffer | null = null;

  constructor({ mark, prove }: LogTreeOptions = {}) {
    this.#mark = mark;
    this.#prove = prove;
    this.#tree = this.#treeFrom(emptyTree);
    this.#keepMarked();
  }

  get tree(): MerkleTree {
    return this.#tree;
  }

  begins(before: TreeState): void {
    this.#tree = this.#treeFrom(before);
    this.#keepMarked();
  }

  line(bytes: Uint8Array): void {
    this.#tree.add(bytes);
    if (this.#tree.size === this.#prove) this.leaf = Buffer.from(bytes);
    this.#keepMarked();
  }

  #treeFrom(start: TreeState): MerkleTree {
    return new MerkleTree(start, this.#prove === undefined ? null : this.#prove - 1);
  }

  #keepMarked(): void {
    if (this.#tree.size !== this.#mark) return;
    this.markedRoot = this.#tree.root();
    if (this.leaf !== null) this.path = this.#tree.path();
  }
}
