import { openCheckpoint, proofText, verifyProof } from '../../domain/checkpoint.ts';
import { TokenctlError } from '../../domain/errors.ts';
import { parseVerifier } from '../../domain/note-key.ts';
import type { AuditLog, LogKeys } from '../ports/audit-log.ts';
import { LogTree } from './log-tree.ts';
import { makeCheckpoint } from './make-checkpoint.ts';
import { held, requireCheckpoint } from './verify-log.ts';

/** Which entry is proved to be in which log. */
export interface ProveInclusionOptions {
  readonly log: Pick<AuditLog, 'verify'>;
  readonly keys: Pick<LogKeys, 'signer' | 'verifiers'>;
  /** The entry's number. */
  readonly seq: number;
  /** A checkpoint that covers it; one is made where none is given. */
  readonly checkpoint?: string;
}

/** What shows, without the log, that an entry is in it. */
export interface ProvedInclusion {
  /** The entry's line without its line feed: what is proved. */
  readonly line: string;
  /** A text in the form of https://c2sp.org/tlog-proof, the checkpoint included. */
  readonly proof: string;
  readonly origin: string;
  /** How many entries the checkpoint covers. */
  readonly size: number;
}

/**
 * Proves that an entry is in the audit log as a checkpoint has it.
 *
 * @throws TokenctlError `not_found` where the checkpoint covers no such entry, or retention removed it;
 * `log_broken`, `configuration` and `audit_unavailable` as `makeCheckpoint`.
 */
export async function proveInclusion(options: ProveInclusionOptions): Promise<ProvedInclusion> {
  const { log, keys, seq } = options;
  const note = options.checkpoint ?? (await makeCheckpoint({ log, keys })).note;
  const checkpoint = openCheckpoint(note, (await keys.verifiers()).map(parseVerifier));
  const { origin, size } = checkpoint;
  const tree = new LogTree({ mark: size, prove: seq });
  const { removed = 0 } = held(await log.verify(tree));
  requireCheckpoint(checkpoint, tree);
  if (tree.path === null || tree.leaf === null) throw notCovered(seq, { size, removed });
  const proof = proofText({ index: seq - 1, path: tree.path, checkpoint: note });
  return { line: tree.leaf.toString('utf8'), proof, origin, size };
}

function notCovered(seq: number, { size, removed }: { size: number; removed: number }): TokenctlError {
  const why = seq <= removed ? 'retention removed it from the log' : `the checkpoint covers 1 to ${size}`;
  return new TokenctlError('not_found', `Entry ${seq} cannot be proved: ${why}`, {
    hint: 'Find the numbers of entries with `tokenctl log list`.',
  });
}

/** An entry, what is said to prove it, and who is trusted. */
export interface VerifyInclusionOptions {
  readonly line: string;
  readonly proof: string;
  /** The public keys that are trusted, as `name+id+key`. */
  readonly keys: readonly string[];
}

/**
 * Verifies a proof of {@link proveInclusion}, without the log.
 *
 * @throws TokenctlError `log_broken` where it proves nothing, `configuration` for what is no proof or key.
 */
export function verifyInclusion({ line, proof, keys }: VerifyInclusionOptions): {
  readonly seq: number;
  readonly origin: string;
  readonly size: number;
} {
  const verifiers = keys.map(parseVerifier);
  const { index, checkpoint } = verifyProof({ proof, leaf: Buffer.from(line), verifiers });
  return { seq: index + 1, origin: checkpoint.origin, size: checkpoint.size };
}
