import { TokenctlError } from '../../domain/errors.ts';
import { Journal, type JournalOptions } from '../journal/journal.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import { requireIncident } from './plan-lockdown.ts';
import { readIncidents } from './read-incidents.ts';

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
  const book = await readIncidents({ log, address: options.description.address });
  const { id, state } = requireIncident(book, options.incident);
  if (state === 'lifted') {
    throw new TokenctlError('usage', `${id} is lifted`, { hint: 'Lock down again where that is needed.' });
  }
  await new Journal({ ...options, operation: 'incident.extend' }).note({
    incident: id,
    until: until?.toISOString() ?? null,
  });
  return id;
}
