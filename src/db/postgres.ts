import pg from 'pg';
import { TokenctlError } from '../core/errors.ts';
import type { Secret } from '../core/secret.ts';
import type { Database, Queryable } from './database.ts';

/** How to reach a PostgreSQL database. */
export interface PostgresOptions {
  /** A `postgres://` URL. It may hold a password, so it travels as a secret. */
  readonly url: Secret;
  /** Connections at the most. */
  readonly connections?: number;
  /** Named in `pg_stat_activity`. */
  readonly applicationName: string;
}

const INT8 = 20;

/** int8 arrives as text, because it may exceed what a number holds exactly; ids and counts do not. */
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    oid === INT8 ? Number : pg.types.getTypeParser(oid, format)) as pg.CustomTypesConfig['getTypeParser'],
};

function queryable(client: pg.Pool | pg.PoolClient): Queryable {
  return {
    async query<R extends object>(sql: string, values: readonly unknown[] = []) {
      return (await client.query<R & pg.QueryResultRow>(sql, [...values])).rows;
    },
    async execute(sql, values = []) {
      return (await client.query(sql, [...values])).rowCount ?? 0;
    },
  };
}

/**
 * Opens a PostgreSQL database and tries the connection.
 *
 * @throws TokenctlError `database_unreachable` where it does not answer or refuses.
 */
export async function openPostgres(options: PostgresOptions): Promise<Database> {
  const pool = new pg.Pool({
    connectionString: options.url.reveal(),
    max: options.connections ?? 10,
    application_name: options.applicationName,
    connectionTimeoutMillis: 10_000,
    types,
  });
  // A connection that breaks while idle is replaced at the next query; without a listener it would end the process.
  pool.on('error', () => undefined);
  try {
    await pool.query('SELECT 1');
  } catch (cause) {
    await pool.end();
    throw new TokenctlError('database_unreachable', `The database could not be opened: ${reason(cause)}`, {
      cause,
      hint: 'Check the host, port, database name and credentials of the database URL.',
    });
  }
  return {
    kind: 'postgresql',
    ...queryable(pool),
    async transaction(work) {
      const client = await pool.connect();
      let broken: Error | undefined;
      try {
        await client.query('BEGIN');
        const result = await work(queryable(client));
        await client.query('COMMIT');
        return result;
      } catch (error) {
        await client.query('ROLLBACK').catch((failure: Error) => {
          broken = failure;
        });
        throw error;
      } finally {
        client.release(broken);
      }
    },
    async script(sql) {
      await pool.query(sql);
    },
    close: () => pool.end(),
  };
}

/** The server's or the network's own words; the URL is in neither. */
function reason(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reason(error.errors[0]);
  return error instanceof Error ? error.message : String(error);
}
