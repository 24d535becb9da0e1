import { join } from 'node:path';
import type { Configuration } from '../../config/configuration.ts';
import { type Environment, stateFolder } from '../../config/paths.ts';
import { databaseConnection, databaseName } from '../../config/secrets.ts';
import type { JobStore } from '../../operations/ports/scheduler.ts';

/** How long the ledger may take to answer, in milliseconds: a fraction of a lease. */
const RESPONSE_TIMEOUT_MS = 15_000;
/** A connection for each lane that looks at the ledger at the same time. */
const CONNECTIONS = 8;

/** Where the ledger is, for people. Throws `configuration` without a state folder. */
export function ledgerName({ scheduler }: Configuration, environment: Environment): string {
  const { file, database } = scheduler.ledger ?? {};
  if (database !== undefined) return `in the database ${databaseName(database)}`;
  return file ?? join(stateFolder(environment), 'ticks.sqlite');
}

/**
 * Opens the ledger that the configuration names; a file in the state folder where it names none. Throws
 * `database_unreachable`, `configuration`, `permission_refused`.
 */
export async function openLedger({ scheduler }: Configuration, environment: Environment): Promise<JobStore> {
  const { file, database } = scheduler.ledger ?? {};
  const { openFileLedger, openPostgresLedger } = await import('../../scheduler/ledger/ledger.ts');
  if (database === undefined) {
    return await openFileLedger(file ?? join(stateFolder(environment), 'ticks.sqlite'));
  }
  const { openPostgres } = await import('@tokenctl/common/db/postgres.ts');
  const url = databaseConnection(database, environment);
  return await openPostgresLedger({
    database: await openPostgres({
      url,
      environment,
      connections: CONNECTIONS,
      applicationName: 'tokenctl scheduler',
      responseTimeout: RESPONSE_TIMEOUT_MS,
    }),
  });
}
