import { TokenctlError } from '../errors.ts';
import { ADVISORY_LOCKS, type Database, type Queryable } from './database.ts';

/** One step of a schema: forward only, never changed after its release. */
export interface Migration {
  /** 1, 2, 3, … without gaps. */
  readonly number: number;
  readonly name: string;
  readonly sql: string;
}

/** A migration of a large table may take hours. */
export const MIGRATION = { responseTimeout: 86_400_000 } as const;

/**
 * Migrates a database to the newest given migration, in one transaction under an advisory lock, so that
 * several processes may start at once. Returns the number of applied migrations. Throws `configuration` if
 * the database is newer than the program.
 */
export function migrate(database: Database, migrations: readonly Migration[]): Promise<number> {
  return database.transaction(async (transaction) => {
    await lockMigrations(transaction);
    return applyMissing(transaction, migrations);
  }, MIGRATION);
}

/** Waits for a migration in progress, and takes the migration lock until the transaction ends. */
export async function lockMigrations(transaction: Queryable): Promise<void> {
  // A migration of a large table, possibly by another process first, may take longer than any request.
  await transaction.execute('SET LOCAL statement_timeout = 0');
  await transaction.query('SELECT pg_advisory_xact_lock($1)', [ADVISORY_LOCKS.serviceMigration]);
}

/** The part of {@link migrate} after taking the lock, for callers that must check the database first. */
export async function applyMissing(
  transaction: Queryable,
  migrations: readonly Migration[],
): Promise<number> {
  await transaction.execute(
    `CREATE TABLE IF NOT EXISTS service_migration (
       number integer PRIMARY KEY, name text NOT NULL, applied timestamptz NOT NULL DEFAULT now())`,
  );
  const rows = await transaction.query<{ newest: number | null }>(
    'SELECT max(number) AS newest FROM service_migration',
  );
  const newest = rows[0]?.newest ?? 0;
  if (newest > migrations.length) {
    throw new TokenctlError(
      'configuration',
      `The database is at migration ${newest}, but this program only knows ${migrations.length}`,
      { hint: 'Use the program version that wrote it, or a later one.' },
    );
  }
  const missing = migrations.slice(newest);
  for (const migration of missing) {
    for (const statement of migration.sql.split(/;\s*\n/).filter((text) => text.trim() !== '')) {
      await transaction.execute(statement);
    }
    await transaction.execute('INSERT INTO service_migration (number, name) VALUES ($1, $2)', [
      migration.number,
      migration.name,
    ]);
  }
  return missing.length;
}
