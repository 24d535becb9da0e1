import { lstatSync } from 'node:fs';
import type { Runtime } from '../../app/runtime.ts';
import { databaseName } from '../../config/database-connection.ts';
import { TokenctlError } from '../../domain/errors.ts';
import { verifyLog } from '../../operations/audit-log/verify-log.ts';
import type { Report } from '../../reports/tables/result.ts';
import { textFile } from './note-file.ts';
import { type LogPlace, verificationResult } from './verification-result.ts';

/** The flags that a verification obeys. */
interface VerificationFlags {
  readonly checkpoint?: string | undefined;
  /** A public key, or a file of public keys. */
  readonly key?: string | undefined;
}

/**
 * Verifies the log of the configuration, with a checkpoint where one is given. A log that nobody has written to yet is as good as an empty one,
 * but only where its path is the default: somebody who names a log means one that is there.
 *
 * @throws TokenctlError `audit_unavailable` for a log that was named and does not exist, and whatever
 * {@link verifyLog} throws
 */
export async function verificationFlow(runtime: Runtime, flags: VerificationFlags): Promise<Report> {
  const place = placeOf(runtime);
  const checkpoint =
    flags.checkpoint === undefined
      ? undefined
      : { note: textFile(flags.checkpoint, 'The checkpoint'), keys: await trustedKeys(runtime, flags.key) };
  const log = await runtime.auditLog();
  const verified = await verifyLog({ log, ...(checkpoint !== undefined && { checkpoint }) });
  return verificationResult(verified, place);
}

/** The public keys by which a checkpoint is verified. */
async function trustedKeys(runtime: Runtime, key: string | undefined): Promise<readonly string[]> {
  if (key === undefined) return await (await runtime.logKeys()).verifiers();
  // No file of keys is called like a key: its hash stands between plus signs.
  if (/^[^+]+\+[0-9a-f]{8}\+/.test(key)) return [key];
  return textFile(key, 'The file of public keys')
    .split('\n')
    .filter((line) => line.trim() !== '');
}

function placeOf({ configuration: { auditLog, auditLogNamed } }: Runtime): LogPlace {
  if (auditLog.database !== undefined) return { kind: 'database', name: databaseName(auditLog.database) };
  const there = exists(auditLog.file);
  if (!there && auditLogNamed) throw missing(auditLog.file);
  return { kind: 'file', name: auditLog.file, there };
}

/** Whether there is anything at the path; what is wrong with it is for the log to tell. */
function exists(path: string): boolean {
  try {
    lstatSync(path);
    return true;
  } catch (cause) {
    return (cause as NodeJS.ErrnoException).code !== 'ENOENT';
  }
}

function missing(file: string): TokenctlError {
  return new TokenctlError('audit_unavailable', `The audit log ${file} does not exist`, {
    hint: 'Check the path: it comes from --log-file, TOKENCTL_AUDIT_LOG or auditLog.file of the configuration file.',
  });
}
