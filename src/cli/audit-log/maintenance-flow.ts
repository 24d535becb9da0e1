import { lstatSync } from 'node:fs';
import type { Runtime } from '../../app/runtime.ts';
import { databaseName } from '../../config/secrets.ts';
import { TokenctlError } from '../../domain/errors.ts';
import { pruneLog, rotateLog } from '../../operations/audit-log/rotate-log.ts';
import { type VerifiedLog, verifyLog } from '../../operations/audit-log/verify-log.ts';
import { type Report, report } from '../../reports/tables/result.ts';
import { countText, printable } from '../../reports/tables/text.ts';
import { textFile } from './checkpoint-flow.ts';

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

/** Where the log is that was verified. */
export type LogPlace =
  | {
      readonly kind: 'file';
      readonly name: string;
      /** Whether the file exists: before the first change there is none. */
      readonly there: boolean;
    }
  | { readonly kind: 'database'; readonly name: string };

/** A log that holds, as a command's result. */
export function verificationResult(verified: VerifiedLog, place: LogPlace): Report {
  const { entries, head, tornBytes, removed, checkpoint } = verified;
  const torn = `An unfinished last line of ${countText(tornBytes, 'byte')} is ignored: an append that was cut short.`;
  const lines = [...summaryLines(verified, place), ...(tornBytes > 0 ? [torn] : [])];
  return report({
    json: { [place.kind]: place.name, entries, head, tornBytes, removed, checkpoint },
    text: () => `${lines.join('\n')}\n`,
  });
}

function summaryLines({ entries, head, removed, checkpoint }: VerifiedLog, place: LogPlace): string[] {
  const name = printable.value(place.kind === 'file' ? place.name : `the database ${place.name}`);
  if (place.kind === 'file' && !place.there) {
    return [`There is no audit log yet: ${name} is made with the first change.`];
  }
  if (entries === 0) return [`There are no entries in ${name}.`];
  return [
    `The log holds: ${countText(entries, 'entry', 'entries')} in ${name}.`,
    ...(removed === undefined ? [] : [`Retention removed entries 1 to ${removed}, as the log says.`]),
    ...(checkpoint === undefined
      ? []
      : [
          `Entries 1 to ${checkpoint.size} are those of the checkpoint of ${printable.value(checkpoint.origin)}.`,
        ]),
    `Head: ${head.hash}`,
  ];
}

/**
 * Closes the log's file and goes on in a new one; then removes closed files that are older than an age.
 *
 * @param removeOlderThan Milliseconds; nothing is removed where not given.
 * @throws TokenctlError as the operations
 */
export async function rotationFlow(runtime: Runtime, removeOlderThan: number | undefined): Promise<Report> {
  const options = { log: await runtime.auditLog(), actor: runtime.operator };
  const rotation = await rotateLog(options);
  const before = new Date(runtime.clock.now().getTime() - (removeOlderThan ?? 0));
  const pruning = removeOlderThan === undefined ? null : await pruneLog({ ...options, before });
  const closed = rotation?.archive ?? null;
  const removed = pruning?.files ?? [];
  const lines = [
    closed === null ? 'The log has no entries: nothing is closed.' : `Closed ${closed}.`,
    ...(removeOlderThan === undefined ? [] : [`Removed ${countText(removed.length, 'file')}.`, ...removed]),
  ];
  return report({
    json: { archive: closed, removed },
    text: () => `${lines.map((line) => printable.value(line)).join('\n')}\n`,
  });
}
