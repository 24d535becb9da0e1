import { randomUUID } from 'node:crypto';
import { TokenctlError } from '../../domain/errors.ts';
import { neededSince } from '../../domain/incident/incident.ts';
import { readIncidentHistories } from '../incident/recorded-incidents.ts';
import type { AuditLog, EntryDraft, Pruning, Rotation } from '../ports/audit-log.ts';

/** Which log, by whom. */
export interface RotateLogOptions {
  readonly log: Pick<AuditLog, 'rotate' | 'prune' | 'entries'>;
  readonly actor: EntryDraft['actor'];
}

/**
 * Closes the log's file and goes on in a new one; all files together stay one chain.
 *
 * @returns Null for an empty log.
 * @throws TokenctlError `unsupported` where the log is no file, `log_broken`, `audit_unavailable`.
 */
export async function rotateLog({ log, actor }: RotateLogOptions): Promise<Rotation | null> {
  if (log.rotate === undefined) throw noFile();
  return await log.rotate({ actor, run: randomUUID() });
}

/**
 * Removes closed files of which all entries were appended before an instant and have an outcome. What
 * stays is verified as before: an entry says what was removed, and the first file that stays says what
 * stood before it. What an incident needs to be lifted stays, however old it is.
 *
 * @returns Null where there are none.
 * @throws TokenctlError `unsupported` where the log is no file, `audit_unavailable`.
 */
export async function pruneLog({
  log,
  actor,
  before,
}: RotateLogOptions & { readonly before: Date }): Promise<Pruning | null> {
  if (log.prune === undefined) throw noFile();
  const incidents = [...(await readIncidentHistories(log)).values()].flatMap((history) => history.incidents);
  const needed = neededSince(incidents);
  const earliest = needed === null ? before : new Date(Math.min(before.getTime(), Date.parse(needed)));
  return await log.prune(earliest, { actor, run: randomUUID() });
}

function noFile(): TokenctlError {
  return new TokenctlError('unsupported', 'Only a log in a file is rotated', {
    hint: 'A table needs no rotation: partition or archive it by the means of the database.',
  });
}
