import type { Configuration } from '../../config/configuration.ts';
import type { Environment } from '../../config/paths.ts';
import { databaseName } from '../../config/secrets.ts';
import type { JobStore } from '../../operations/ports/scheduler.ts';
import { openStatePlace, stateFile } from '../state-place.ts';

/** The ledger's response timeout, in milliseconds: a fraction of a lease. */
const RESPONSE_TIMEOUT_MS = 15_000;
/** One connection for each job loop that reads the ledger at the same time. */
const CONNECTIONS = 8;
const FILE_NAME = 'ticks.sqlite';

/** Where the ledger is, for people. Throws `configuration` without a state folder. */
export function ledgerName({ scheduler: { ledger } }: Configuration, environment: Environment): string {
  if (ledger?.database !== undefined) return `in the database ${databaseName(ledger.database)}`;
  return stateFile(ledger, { environment, fileName: FILE_NAME });
}

/** Opens the configured ledger. Throws `database_unreachable`, `configuration`, `permission_refused`. */
export async function openLedger({ scheduler }: Configuration, environment: Environment): Promise<JobStore> {
  const { openLedgerTables } = await import('../../scheduler/ledger/ledger.ts');
  const place = await openStatePlace(scheduler.ledger, {
    ...{ environment, fileName: FILE_NAME, applicationName: 'tokenctl scheduler' },
    ...{ connections: CONNECTIONS, responseTimeout: RESPONSE_TIMEOUT_MS },
  });
  return await openLedgerTables(place);
}
