import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Configuration } from '../../config/configuration.ts';
import { type Environment, stateFolder } from '../../config/paths.ts';
import { databaseConnection } from '../../config/secrets.ts';
import type { JobStore, SchedulerClock } from '../../operations/ports/scheduler.ts';

/** How long the ledger may take to answer, in milliseconds: a fraction of a lease. */
const RESPONSE_TIMEOUT_MS = 15_000;
/** A connection for each lane that looks at the ledger at the same time. */
const CONNECTIONS = 8;

/**
 * Opens the ledger that the configuration names; a file in the state folder where it names none.
 *
 * @throws TokenctlError `database_unreachable`, `configuration`, `permission_refused`.
 */
export async function openLedger({ scheduler }: Configuration, environment: Environment): Promise<JobStore> {
  const { file, database } = scheduler.ledger ?? {};
  if (database === undefined) {
    const { openFileLedger } = await import('../../scheduler/ledger/file-ledger.ts');
    return await openFileLedger(file ?? join(stateFolder(environment), 'ticks.sqlite'));
  }
  const { openPostgres } = await import('../../db/postgres.ts');
  const { openPostgresLedger } = await import('../../scheduler/ledger/postgres-ledger.ts');
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

/** The longest delay of a Node.js timer, in milliseconds. A longer wait is split. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** The time of this machine. */
export const machineClock: SchedulerClock = {
  now: () => new Date(),
  wait: (milliseconds, signal) =>
    sleep(Math.min(milliseconds, MAX_TIMER_MS), undefined, { signal }).catch(() => undefined),
};
