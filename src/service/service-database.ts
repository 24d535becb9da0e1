import type { Database, Queryable } from '../db/database.ts';
import { openEmbedded } from '../db/embedded.ts';
import { applyMissing, lockMigrations } from '../db/migrate.ts';
import { openPostgres } from '../db/postgres.ts';
import type { Secret } from '../domain/secret.ts';
import { migrations } from './migrations/index.ts';

const STATEMENT_TIMEOUT_MS = 30_000;

/** A PostgreSQL URL, or the folder of the embedded database; null keeps it in memory. */
export type Place = { readonly url: Secret } | { readonly folder: string | null };

/**
 * Opens the service's database and applies the missing migrations.
 *
 * @throws TokenctlError `configuration` for a database of a newer program, `busy`, `database_unreachable`.
 */
export async function openDatabase(place: Place): Promise<Database> {
  const database = await open(place);
  try {
    await database.transaction(async (transaction) => {
      await lockMigrations(transaction);
      await applyMissing(transaction, migrations);
    });
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** Whether a database is a service's. */
export async function isServiceDatabase(database: Queryable): Promise<boolean> {
  const [row] = await database.query<{ exists: boolean }>(
    "SELECT to_regclass('service_migration') IS NOT NULL AS exists",
  );
  return row?.exists === true;
}

async function open(place: Place): Promise<Database> {
  if ('url' in place) {
    return openPostgres({
      url: place.url,
      applicationName: 'tokenctl service',
      statementTimeout: STATEMENT_TIMEOUT_MS,
    });
  }
  return openEmbedded(place.folder);
}
