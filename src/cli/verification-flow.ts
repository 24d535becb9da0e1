import { lstatSync } from 'node:fs';
import type { Configuration } from '../config/configuration.ts';
import { TokenctlError } from '../core/errors.ts';
import { verifyLog } from '../operations/verify-log.ts';
import type { Runtime } from '../runtime.ts';
import type { Report } from './result.ts';
import { verificationResult } from './verification-result.ts';

/**
 * Verifies the log of the configuration. A log that nobody has written to yet is as good as an empty one,
 * but only where its path is the default: somebody who names a log means one that is there.
 *
 * @throws TokenctlError `audit_unavailable` for a log that was named and does not exist, and whatever
 * {@link verifyLog} throws
 */
export async function verificationFlow(runtime: Runtime): Promise<Report> {
  const { auditLog, auditLogNamed } = runtime.configuration;
  const there = exists(auditLog.file);
  if (!there && auditLogNamed) throw missing(auditLog);
  const verified = await verifyLog({ log: await runtime.auditLog() });
  return verificationResult(verified, { file: auditLog.file, there });
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

function missing({ file }: Configuration['auditLog']): TokenctlError {
  return new TokenctlError('audit_unavailable', `The audit log ${file} does not exist`, {
    hint: 'Check the path: it comes from --log-file, TOKENCTL_AUDIT_LOG or auditLog.file of the configuration file.',
  });
}
