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
  /** Milliseconds after which the server gives a statement up (SQLSTATE 57014); never where not given. */
  readonly statementTimeout?: number;
}

const INT8 = 20;
const INT8_ARRAY = 1016;
const INT4_ARRAY = 1007;

/** int8 arrives as text, because it may exceed what a number holds exactly; ids and counts do not. */
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    oid === INT8
      ? Number
      : pg.types.getTypeParser(
          oid === INT8_ARRAY ? INT4_ARRAY : oid,
          format,
        )) as pg.CustomTypesConfig['getTypeParser'],
};

function queryable(client: pg.Pool | pg.PoolClient): Queryable {
  return {
    async query<R extends object>(text: string, values: readonly unknown[] = [], name?: string) {
      const statement = { text, values: [...values], ...(name !== undefined && { name }) };
      return (await connected(client.query<R & pg.QueryResultRow>(statement))).rows;
    },
    async execute(sql, values = []) {
      return (await connected(client.query(sql, [...values]))).rowCount ?? 0;
    },
  };
}

/** What the server answers; that it is gone, or going, is a `database_unreachable`. */
async function connected<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (cause) {
    if (!isLost(cause)) throw cause;
    throw new TokenctlError(
      'database_unreachable',
      `The connection to the database was lost: ${reason(cause)}`,
      {
        cause,
        hint: 'Try again when the database is back.',
      },
    );
  }
}

/** SQLSTATE class 08 (connection), 53 (out of resources), 57P0x (shutdown), or what the network says. */
function isLost(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return /^(08|53|57P0)/.test(error.code ?? '');
  return error instanceof Error && !(error instanceof TypeError);
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
    ...(options.statementTimeout !== undefined && { statement_timeout: options.statementTimeout }),
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
      const client = await connected(pool.connect());
      let broken: Error | undefined;
      const noteBroken = (error: Error) => {
        broken = error;
      };
      // The pool listens to idle connections only: one that breaks while it is lent out would end the process.
      client.on('error', noteBroken);
      try {
        await connected(client.query('BEGIN'));
        const result = await work(queryable(client));
        await connected(client.query('COMMIT'));
        return result;
      } catch (error) {
        await client.query('ROLLBACK').catch(noteBroken);
        throw error;
      } finally {
        client.off('error', noteBroken);
        client.release(broken);
      }
    },
    async script(sql) {
      await pool.query(sql);
    },
    connections: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    close: () => pool.end(),
  };
}

/** The server's or the network's own words; the URL is in neither. */
function reason(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reason(error.errors[0]);
  return error instanceof Error ? error.message : String(error);
}
