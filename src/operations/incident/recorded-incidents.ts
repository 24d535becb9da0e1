import { TokenctlError } from '../../domain/errors.ts';
import { incidentOperations } from '../../domain/incident/incident.ts';
import { IncidentHistory } from '../../domain/incident/incident-history.ts';
import { Journal, type JournalOptions } from '../journal/journal.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import { requireIncident } from './plan-lockdown.ts';

/**
 * Reads the incidents out of the audit log, which is the only place where they are kept.
 *
 * @returns The book of each target that has any, by its address.
 * @throws TokenctlError `log_broken`, `audit_unavailable` where it cannot be read.
 */
export async function readIncidentHistories(
  log: Pick<AuditLog, 'entries'>,
): Promise<ReadonlyMap<string, IncidentHistory>> {
  const histories = new Map<string, IncidentHistory>();
  for await (const entry of log.entries(1, { operations: incidentOperations })) {
    const address = entry.target['address'] ?? '';
    const history = histories.get(address) ?? new IncidentHistory();
    histories.set(address, history);
    history.add(entry);
  }
  return histories;
}

/**
 * Reads the incidents of one target out of the audit log.
 *
 * @param options `address` as of the target's description.
 * @throws TokenctlError as {@link readIncidentHistories}.
 */
export async function readIncidentHistory(options: {
  readonly log: Pick<AuditLog, 'entries'>;
  readonly address: string;
}): Promise<IncidentHistory> {
  return (await readIncidentHistories(options.log)).get(options.address) ?? new IncidentHistory();
}

/**
 * Sets when an open incident is to be lifted; null for not by itself.
 *
 * @returns Its id, whole.
 * @throws TokenctlError `not_found`, `usage` for one that is lifted, `audit_unavailable`.
 */
export async function extendIncident(
  options: Omit<JournalOptions, 'operation'> & {
    readonly log: AuditLog;
    readonly incident: string;
    readonly until: Date | null;
  },
): Promise<string> {
  const { log, until } = options;
  const history = await readIncidentHistory({ log, address: options.description.address });
  const { id, state } = requireIncident(history, options.incident);
  if (state === 'lifted') {
    throw new TokenctlError('usage', `${id} is lifted`, { hint: 'Lock down again where that is needed.' });
  }
  await new Journal({ ...options, operation: 'incident.extend' }).note({
    incident: id,
    until: until?.toISOString() ?? null,
  });
  return id;
}
