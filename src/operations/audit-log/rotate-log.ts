import { randomUUID } from 'node:crypto';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { type Incident, isHeld, neededSince } from '../../domain/incident/incident.ts';
import { isOpen, type Lease } from '../../domain/leases.ts';
import { readIncidentHistories } from '../journal/recorded-incidents.ts';
import { readAllLeases } from '../journal/recorded-leases.ts';
import type { AuditLog, EntryDraft, Pruning, Rotation } from '../ports/audit-log.ts';

export interface RotateLogOptions {
  readonly log: Pick<AuditLog, 'rotate' | 'prune' | 'filesToPrune' | 'entries'>;
  readonly actor: EntryDraft['actor'];
}

/**
 * Closes the file of the log and continues in a new one. All files together are one chain.
 * @returns Null for an empty log.
 * @throws TokenctlError `unsupported` if the log is not a file, `log_broken`, `audit_unavailable`.
 */
export async function rotateLog({ log, actor }: RotateLogOptions): Promise<Rotation | null> {
  if (log.rotate === undefined) throw notAFile();
  return await log.rotate({ actor, run: randomUUID() });
}

/**
 * Removes closed files whose entries were all appended before an instant and have an outcome. Entries that an
 * open incident or lease needs are kept regardless of age, as are those of an incident whose lift left users
 * deactivated or roles removed. The rest of the log can still be verified: an entry records the removal, and
 * the first remaining file has the state of the log before it.
 * @returns Null if there are no such files.
 * @throws TokenctlError `unsupported` if the log is not a file, `audit_unavailable`.
 */
export async function pruneLog(options: RotateLogOptions & { before: Date }): Promise<Pruning | null> {
  const { log, actor, before } = options;
  if (log.prune === undefined) throw notAFile();
  return await log.prune(await withoutNeeded(log, before), { actor, run: randomUUID() });
}

/**
 * The names of the files that {@link pruneLog} would remove after a rotation. Changes nothing.
 * @throws TokenctlError as {@link pruneLog}.
 */
export async function filesToPrune(
  options: Pick<RotateLogOptions, 'log'> & { before: Date },
): Promise<readonly string[]> {
  const { log, before } = options;
  if (log.filesToPrune === undefined) throw notAFile();
  return await log.filesToPrune(await withoutNeeded(log, before));
}

/** The instant, or an earlier one if incidents or leases need entries since then. */
async function withoutNeeded(log: Pick<AuditLog, 'entries'>, before: Date): Promise<Date> {
  const held = await heldEntries(log, before);
  return held === null ? before : new Date(held.since);
}

export interface HeldEntries {
  /** Entries from this instant on are kept (RFC 3339). */
  readonly since: string;
  /** Incidents that are open, or whose lift left users deactivated or roles removed. */
  readonly incidents: readonly Incident[];
  /** The open leases: without their entries, nothing would end the tokens. */
  readonly leases: readonly Lease[];
}

/**
 * The incidents and leases that keep entries older than an instant; null if none do.
 * @throws TokenctlError `audit_unavailable`.
 */
export async function heldEntries(log: Pick<AuditLog, 'entries'>, before: Date): Promise<HeldEntries | null> {
  const isOlder = ({ loggedAt }: { loggedAt: string }) => Date.parse(loggedAt) < before.getTime();
  const { all: histories } = await readIncidentHistories(log);
  const all = [...histories.values()].flatMap(({ incidents }) => incidents);
  const leases = (await readAllLeases(log)).filter((lease) => isOpen(lease) && isOlder(lease));
  const since = [neededSince(all), ...leases.map(({ loggedAt }) => loggedAt)]
    .filter((at) => at !== null)
    .map((at) => Date.parse(at));
  const first = Math.min(...since);
  if (since.length === 0 || first >= before.getTime()) return null;
  return {
    since: new Date(first).toISOString(),
    incidents: all.filter((incident) => isHeld(incident) && isOlder(incident)),
    leases,
  };
}

function notAFile(): TokenctlError {
  return new TokenctlError('unsupported', 'Only an audit log in a file can be rotated', {
    hint: "Use the database's own tools to partition or archive the table.",
  });
}
