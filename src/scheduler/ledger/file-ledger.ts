import { openStateFile } from '../../db/state-tables.ts';
import type { JobStore } from '../../operations/ports/scheduler.ts';
import { Ledger, ledgerSchema } from './ledger.ts';

/**
 * Opens the ledger in an SQLite file, for any number of processes on one machine. Creates the file and its
 * folder if they are missing.
 *
 * @throws TokenctlError `database_unreachable` if the file cannot be opened or is not a ledger,
 * `configuration` if it is newer than the program.
 */
export async function openFileLedger(path: string): Promise<JobStore> {
  return new Ledger(await openStateFile(path, ledgerSchema));
}
