import { type Checkpoint, openCheckpoint } from '../../domain/checkpoint.ts';
import { TokenctlError } from '../../domain/errors.ts';
import { parseVerifier } from '../../domain/note-key.ts';
import type { AuditLog, Head, LogVerification } from '../ports/audit-log.ts';
import { LogTree } from './log-tree.ts';

/** A log whose chain holds. */
export interface VerifiedLog {
  readonly entries: number;
  /** Compare it with one kept elsewhere: a chain cannot tell that its end was cut off. */
  readonly head: Head;
  /** The length of an unfinished last line, which no operation relied on; 0 for none. */
  readonly tornBytes: number;
  /** The number up to which retention removed entries; absent where the first one is there. */
  readonly removed?: number;
  /** The checkpoint that the log was compared with: nothing of what it covers was changed or cut off. */
  readonly checkpoint?: Pick<Checkpoint, 'origin' | 'size'>;
}

/** Which log is verified, and by what. */
export interface VerifyLogOptions {
  readonly log: Pick<AuditLog, 'verify'>;
  /** A checkpoint made before: a signed note. */
  readonly checkpoint?: {
    readonly note: string;
    /** The public keys that are trusted, as `name+id+key`. */
    readonly keys: readonly string[];
  };
}

/**
 * Reads the whole audit log and checks that every entry follows from the one before; with a checkpoint,
 * also that nothing of what that covers was cut off or written anew.
 *
 * @throws TokenctlError `log_broken` with details `{ line, file?, seq, expected, problem, entries }`, of
 * which a `cut-off` or `rewritten` log has `{ problem, entries, size }`; `configuration` for what is no
 * checkpoint or no key; `audit_unavailable` where the log cannot be read.
 */
export async function verifyLog({ log, checkpoint }: VerifyLogOptions): Promise<VerifiedLog> {
  if (checkpoint === undefined) return held(await log.verify());
  const head = openCheckpoint(checkpoint.note, checkpoint.keys.map(parseVerifier));
  const tree = new LogTree({ mark: head.size });
  const verified = held(await log.verify(tree));
  requireCheckpoint(head, tree);
  return { ...verified, checkpoint: { origin: head.origin, size: head.size } };
}

/**
 * What a verification found, where the chain holds.
 *
 * @throws TokenctlError `log_broken` where it does not.
 */
export function held({ break: broken, ...verified }: LogVerification): VerifiedLog {
  if (broken === null) return verified;
  const { line, file, seq, expected, problem, message } = broken;
  const where = file === undefined ? `line ${line}` : `line ${line} of ${file}`;
  throw new TokenctlError('log_broken', `The audit log does not hold at ${where}: ${message}`, {
    hint: 'Keep the file as it is, and compare it with a copy or a checkpoint made before.',
    details: {
      line,
      ...(file !== undefined && { file }),
      seq,
      expected,
      problem,
      entries: verified.entries,
    },
  });
}

/**
 * Checks that the tree of a log, marked at a checkpoint's size, is what the checkpoint says.
 *
 * @throws TokenctlError `log_broken` where it is not.
 */
export function requireCheckpoint({ size, root }: Checkpoint, { tree, markedRoot }: LogTree): void {
  if (markedRoot?.equals(root) === true) return;
  const entries = tree.size;
  if (entries < size) {
    throw new TokenctlError(
      'log_broken',
      `The audit log was cut off: it ends at entry ${entries}, and the checkpoint covers ${size}`,
      {
        hint: 'Look for what was behind in a copy.',
        details: { problem: 'cut-off', entries, size },
      },
    );
  }
  if (markedRoot === null) {
    throw new TokenctlError(
      'log_broken',
      `The audit log begins behind what the checkpoint covers: entries 1 to ${size}`,
      {
        hint: 'Verify with a checkpoint made later, or with the removed files beside the log.',
        details: { problem: 'removed', entries, size },
      },
    );
  }
  throw new TokenctlError(
    'log_broken',
    `The audit log was rewritten: entries 1 to ${size} are not those of the checkpoint`,
    {
      hint: 'Compare the log with a copy: the first entry that differs was changed, and all behind it written anew.',
      details: { problem: 'rewritten', entries, size },
    },
  );
}
