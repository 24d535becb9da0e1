import { incidentOperations } from '../../domain/incident/incident.ts';
import { IncidentBook } from '../../domain/incident/incident-history.ts';
import type { AuditLog } from '../ports/audit-log.ts';

/**
 * Reads the incidents out of the audit log, which is the only place where they are kept.
 *
 * @returns The book of each target that has any, by its address.
 * @throws TokenctlError `log_broken`, `audit_unavailable` where it cannot be read.
 */
export async function readBooks(log: Pick<AuditLog, 'entries'>): Promise<ReadonlyMap<string, IncidentBook>> {
  const books = new Map<string, IncidentBook>();
  for await (const entry of log.entries(1, { operations: incidentOperations })) {
    const address = entry.target['address'] ?? '';
    const book = books.get(address) ?? new IncidentBook();
    books.set(address, book);
    book.add(entry);
  }
  return books;
}

/**
 * Reads the incidents of one target out of the audit log.
 *
 * @param options `address` as of the target's description.
 * @throws TokenctlError as {@link readBooks}.
 */
export async function readIncidents(options: {
  readonly log: Pick<AuditLog, 'entries'>;
  readonly address: string;
}): Promise<IncidentBook> {
  return (await readBooks(options.log)).get(options.address) ?? new IncidentBook();
}
