import { openStateDatabase, type StateDatabaseOptions } from '../../db/state-tables.ts';
import type { JobStore } from '../../operations/ports/scheduler.ts';
import { Ledger, ledgerSchema } from './ledger.ts';

/**
 * Opens the ledger in PostgreSQL, for replicas on several machines. Creates the schema `tokenctl_scheduler`
 * if it is missing. Leases use the server's clock.
 *
 * @throws TokenctlError `database_unreachable`, `configuration` if the ledger is newer than the program,
 * `permission_refused` if the role may not create the schema, `busy` if another process does not finish
 * creating it.
 */
export async function openPostgresLedger(options: StateDatabaseOptions): Promise<JobStore> {
  return new Ledger(await openStateDatabase(options, ledgerSchema));
}
