import type { Configuration } from '../config/configuration.ts';
import { databaseConnection, databaseName } from '../config/database-connection.ts';
import type { Environment } from '../config/paths.ts';
import type { AuditLog } from '../operations/ports/audit-log.ts';
import type { Clock } from '../operations/ports/clock.ts';

/** What the audit log is opened with. */
interface AuditLogOptions {
  readonly environment: Environment;
  readonly clock: Clock;
  /** How many runs may hold it at a time. */
  readonly runs: number;
}

/**
 * Opens the audit log of the configuration; nothing is made before its first use.
 *
 * @throws TokenctlError `configuration`
 */
export async function openAuditLog(
  { auditLog: { file, database } }: Configuration,
  { environment, clock, runs }: AuditLogOptions,
): Promise<AuditLog> {
  if (database === undefined) {
    const { openFileLog } = await import('../audit-log/file-log.ts');
    return openFileLog({ path: file, clock });
  }
  const url = databaseConnection(database, environment);
  const { openPostgresLog } = await import('../audit-log/postgres-log.ts');
  const { openPostgres } = await import('../db/postgres.ts');
  return openPostgresLog({
    // One to append, one to read, and one for each run that is held.
    open: () => openPostgres({ url, applicationName: 'tokenctl audit log', connections: 2 + runs }),
    name: `in the database ${databaseName(database)}`,
    clock,
  });
}
