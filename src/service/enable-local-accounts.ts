import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Database } from '../db/database.ts';
import { openEmbedded } from '../db/embedded.ts';
import { openPostgres } from '../db/postgres.ts';
import { TokenctlError } from '../domain/errors.ts';
import { isServiceDatabase, type Place } from './open-database.ts';
import { insertActivity } from './store/activity.ts';
import { deleteSettings, lockSettings } from './store/settings.ts';

/**
 * Turns local accounts on again, in the database itself: for whoever cannot log in any more. A service that
 * runs on PostgreSQL notices at once. Sessions and tokens that ended do not come back.
 *
 * @returns Whether they were off.
 * @throws TokenctlError `busy` where the service runs on the embedded database, `not_found` where there is no
 *   service's database, `database_unreachable`.
 */
export async function enableLocalAccounts(place: Place, now: Date): Promise<boolean> {
  const database = await open(place);
  try {
    if (!(await isServiceDatabase(database))) throw noService('The database');
    return await database.transaction(async (transaction) => {
      await lockSettings(transaction);
      const [row] = await deleteSettings(transaction, ['DISABLE_LOCAL_AUTH']);
      if (row === undefined) return false;
      await insertActivity(transaction, {
        operation: 'delete',
        at: now,
        changes: { value: row.value, id: row.id },
        object1: 'setting',
        actorId: null,
        node: hostname(),
        setting: { name: row.key, category: 'authentication' },
      });
      return row.value === true;
    });
  } finally {
    await database.close();
  }
}

/** Opens what is there; an embedded database that is not there would be made. */
async function open(place: Place): Promise<Database> {
  if ('url' in place) return openPostgres({ url: place.url, applicationName: 'tokenctl service' });
  if (place.folder !== null && !existsSync(join(place.folder, 'pgdata'))) {
    throw noService(`The folder ${place.folder}`);
  }
  return openEmbedded(place.folder);
}

function noService(what: string): TokenctlError {
  return new TokenctlError('not_found', `${what} holds no data of the service`, {
    hint: 'Give the same --data, --database or --database-file as the service has.',
  });
}
