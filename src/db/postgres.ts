import type pg from 'pg';
import { TokenctlError } from '../domain/errors.ts';
import { type ConnectionParameters, readConnection } from './connection-parameters.ts';
import type { Database, Queryable } from './database.ts';
import { openPool, type PostgresOptions, reasonOf, type Transport } from './postgres-pool.ts';
import { sqlState } from './sql-state.ts';

/** A PostgreSQL server's database, and how it was reached. */
export interface PostgresDatabase extends Database {
  readonly kind: 'postgresql';
  /** `postgresql://host:port/database`; a socket's folder is percent-encoded. Nothing secret is in it. */
  readonly address: string;
  readonly transport: Transport;
}

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
      `The connection to the database was lost: ${reasonOf(cause)}`,
      {
        cause,
        hint: 'Try again when the database is back.',
      },
    );
  }
}

/** SQLSTATE class 08 (connection), 53 (out of resources), 57P0x (shutdown), or what the network says. */
function isLost(error: unknown): boolean {
  const state = sqlState(error);
  if (state !== null) return /^(08|53|57P0)/.test(state);
  return error instanceof Error && !(error instanceof TypeError) && !(error instanceof TokenctlError);
}

/**
 * Opens a PostgreSQL database and tries the connection. The words of the URL, the PG* variables, services
 * and `~/.pgpass` mean what they mean to libpq.
 *
 * @throws TokenctlError `database_unreachable` where it does not answer or refuses, `credentials_refused`
 *   where it asks for a password and none is given, `configuration` for what cannot be meant.
 */
export async function openPostgres(options: PostgresOptions): Promise<PostgresDatabase> {
  const parameters = readConnection(options.url, options.environment ?? process.env);
  const { pool, transport } = await openPool(options, parameters);
  return {
    kind: 'postgresql',
    address: addressOf(parameters),
    transport,
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

function addressOf({ host, port, database }: ConnectionParameters): string {
  const place = host.includes(':') ? `[${host}]` : encodeURIComponent(host);
  return `postgresql://${place}:${port}/${encodeURIComponent(database)}`;
}
