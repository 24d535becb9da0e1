import { openCheckpoint, signCheckpoint } from '../../domain/checkpoint.ts';
import { parseSigner, parseVerifier } from '../../domain/note-key.ts';
import type { AuditLog, LogKeys } from '../ports/audit-log.ts';
import { LogTree } from './log-tree.ts';
import { held, requireCheckpoint } from './verify-log.ts';

/** Which log is signed, and with what. */
export interface MakeCheckpointOptions {
  readonly log: Pick<AuditLog, 'verify'>;
  readonly keys: Pick<LogKeys, 'signer' | 'verifiers'>;
  /** The checkpoint made before: one that contradicts it is not signed. */
  readonly previous?: string;
}

/** A checkpoint, and what it says. */
export interface MadeCheckpoint {
  /** The signed note: kept elsewhere, it shows what happens to the log from now on. */
  readonly note: string;
  readonly origin: string;
  readonly size: number;
  /** In base64, as in the note. */
  readonly root: string;
}

/**
 * Signs how many entries the audit log has, and the hash of their Merkle tree. The log is verified
 * before: a broken one is not signed.
 *
 * @throws TokenctlError `log_broken` where the log or the previous checkpoint does not hold,
 * `configuration` where there is no key, `audit_unavailable` where the log cannot be read.
 */
export async function makeCheckpoint(options: MakeCheckpointOptions): Promise<MadeCheckpoint> {
  const { log, keys, previous } = options;
  const signer = parseSigner(await keys.signer());
  const before =
    previous === undefined
      ? undefined
      : openCheckpoint(previous, (await keys.verifiers()).map(parseVerifier));
  const tree = new LogTree({ mark: before?.size });
  held(await log.verify(tree));
  if (before !== undefined) requireCheckpoint(before, tree);
  const root = tree.tree.root();
  const { size } = tree.tree;
  return {
    note: signCheckpoint({ size, root }, [signer]),
    origin: signer.verifier.name,
    size,
    root: root.toString('base64'),
  };
}
