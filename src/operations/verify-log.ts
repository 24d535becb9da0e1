import { TokenctlError } from '../core/errors.ts';
import type { AuditLog, Head } from './audit-log-port.ts';

/** A log whose chain holds. */
export interface VerifiedLog {
  readonly entries: number;
  /** Compare it with one kept elsewhere: a chain cannot tell that its end was cut off. */
  readonly head: Head;
  /** The length of an unfinished last line, which no operation relied on; 0 for none. */
  readonly tornBytes: number;
}

/**
 * Reads the whole audit log and checks that every entry follows from the one before.
 *
 * @throws TokenctlError `log_broken` with details `{ line, seq, problem, entries }`, `audit_unavailable`
 * where it cannot be read.
 */
export async function verifyLog(options: { log: Pick<AuditLog, 'verify'> }): Promise<VerifiedLog> {
  const { entries, head, tornBytes, break: broken } = await options.log.verify();
  if (broken === null) return { entries, head, tornBytes };
  throw new TokenctlError(
    'log_broken',
    `The audit log does not hold at line ${broken.line}: ${broken.message}`,
    {
      hint: 'Keep the file as it is, and compare it with a copy or a checkpoint made before.',
      details: { line: broken.line, seq: broken.seq, problem: broken.problem, entries },
    },
  );
}
