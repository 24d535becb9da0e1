import { IncidentBook } from '../../core/incident/incident-book.ts';
import type { AuditLog } from '../ports/audit-log.ts';

/**
 * Reads the incidents of one target out of the audit log, which is the only place where they are kept.
 *
 * @throws TokenctlError `log_broken`, `audit_unavailable` where it cannot be read.
 */
export async function readIncidents({
  log,
  address,
}: {
  readonly log: Pick<AuditLog, 'entries'>;
  /** As of the target's description. */
  readonly address: string;
}): Promise<IncidentBook> {
  const book = new IncidentBook();
  for await (const entry of log.entries()) if (entry.target['address'] === address) book.add(entry);
  return book;
}
