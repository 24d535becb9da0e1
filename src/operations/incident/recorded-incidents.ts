import { TokenctlError } from '../../domain/errors.ts';
import { type Incident, incidentOperations } from '../../domain/incident/incident.ts';
import { IncidentHistory } from '../../domain/incident/incident-history.ts';
import { Journal, type JournalOptions } from '../journal/journal.ts';
import type { AuditLog } from '../ports/audit-log.ts';

/**
 * Reads the incidents out of the audit log, which is the only place where they are kept.
 *
 * @returns The incident history of each target that has incidents, by its address.
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
    throw new TokenctlError('usage', `${id} was already lifted`, {
      hint: 'Start a new lockdown if you need one.',
    });
  }
  await new Journal({ ...options, operation: 'incident.extend' }).note({
    incident: id,
    until: until?.toISOString() ?? null,
  });
  return id;
}

/**
 * The open or lifted incident of an id, or of the beginning of one where that is one incident's only.
 *
 * @throws TokenctlError `not_found`.
 */
export function requireIncident(history: IncidentHistory, id: string): Incident {
  const found = history.incidents.filter((incident) => incident.id.startsWith(id));
  const exact = found.find((incident) => incident.id === id) ?? (found.length === 1 ? found[0] : undefined);
  if (exact !== undefined) return exact;
  throw new TokenctlError(
    'not_found',
    found.length > 1 ? `Several incident ids begin with ${id}` : `No incident ${id} at this target`,
    {
      hint: 'List them with `tokenctl incident status --all`, in the context in which they were locked down.',
      details: { kind: 'incident', names: [id] },
    },
  );
}
