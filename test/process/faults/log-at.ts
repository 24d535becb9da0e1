import { openPostgres } from '@tokenctl/common/db/postgres.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import { openFileLog } from '../../../src/audit-log/file-log.ts';
import { openPostgresLog } from '../../../src/audit-log/postgres-log.ts';
import type { AuditLog } from '../../../src/operations/ports/audit-log.ts';

/** Opens the log at a path, or in the database of a URL. */
export function openLogAt(place: string): AuditLog {
  const clock = { now: () => new Date() };
  if (!place.startsWith('postgres://')) return openFileLog({ path: place, clock });
  const open = () =>
    openPostgres({ url: new Secret(place), applicationName: 'tokenctl test', connections: 3 });
  return openPostgresLog({ open, name: 'in PostgreSQL', clock });
}
