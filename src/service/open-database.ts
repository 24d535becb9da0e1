import type { Database, Queryable } from '../db/database.ts';
import { openEmbedded } from '../db/embedded.ts';
import { applyMissing, lockMigrations } from '../db/migrate.ts';
import { openPostgres } from '../db/postgres.ts';
import { TokenctlError } from '../domain/errors.ts';
import type { Secret } from '../domain/secret.ts';
import type { DialectName } from './dialects/dialect.ts';
import { gatewayMigrations, MARK } from './migrations/gateway/index.ts';
import { NAMES } from './migrations/gateway/schema.ts';
import { migrations } from './migrations/index.ts';

const STATEMENT_TIMEOUT_MS = 30_000;

/**
 * Where the service looks for names without a schema in a database of the gateway's dialect: its own names come
 * first, so that a table which somebody else makes in `public` takes the place of none of them.
 */
const GATEWAY_PATH = `${NAMES},public`;

/** A PostgreSQL URL, or the folder of the embedded database; null keeps it in memory. */
export type Place = { readonly url: Secret } | { readonly folder: string | null };

/**
 * Opens the service's database and brings it up to date, in the schema of the dialect.
 *
 * @throws TokenctlError `configuration` for a database that was made for the other dialect or a newer program,
 *   `busy`, `database_unreachable`.
 */
export async function openDatabase(place: Place, dialect: DialectName): Promise<Database> {
  const database = await open(place, dialect);
  try {
    await database.transaction(async (transaction) => {
      await lockMigrations(transaction);
      // There the steps find the tables that they change, and what they make belongs there.
      if (dialect === 'gateway') await transaction.execute('SET LOCAL search_path = public');
      const made = await dialectOf(transaction);
      if (made !== null && made !== dialect) throw madeForAnother(place, made);
      await applyMissing(transaction, dialect === 'gateway' ? gatewayMigrations : migrations);
    });
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** The dialect that a service's database was made for; null where it is none. */
export async function dialectOf(database: Queryable): Promise<DialectName | null> {
  const [table] = await database.query<{ there: boolean }>(
    "SELECT to_regclass('service_migration') IS NOT NULL AS there",
  );
  if (table?.there !== true) return null;
  const [first] = await database.query<{ name: string }>(
    'SELECT name FROM service_migration WHERE number = 1',
  );
  if (first === undefined) return null;
  return first.name === MARK ? 'gateway' : 'controller';
}

async function open(place: Place, dialect: DialectName): Promise<Database> {
  if ('url' in place) {
    return openPostgres({
      url: place.url,
      applicationName: 'tokenctl service',
      statementTimeout: STATEMENT_TIMEOUT_MS,
      ...(dialect === 'gateway' && { settings: { search_path: GATEWAY_PATH } }),
    });
  }
  const database = await openEmbedded(place.folder);
  if (dialect === 'gateway') await database.execute(`SET search_path = ${GATEWAY_PATH}`);
  return database;
}

function madeForAnother(place: Place, made: DialectName): TokenctlError {
  const what = 'url' in place ? 'The database' : `The data folder ${place.folder ?? ''}`;
  return new TokenctlError('configuration', `${what} was made with --dialect ${made}`, {
    hint: `Start the service with --dialect ${made}, or give it another folder or database: it cannot change over.`,
  });
}
