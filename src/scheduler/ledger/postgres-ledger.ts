import type { Database } from '../../db/database.ts';
import { lockWithin } from '../../db/database.ts';
import { TokenctlError } from '../../domain/errors.ts';
import type { JobStore } from '../../operations/ports/scheduler.ts';
import { CREATE_SCHEMA, createTables, Ledger } from './ledger.ts';

const TIMEOUT_MS = 10_000;
const NOW = 'CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)';

/** Which database the ledger is in. */
export interface PostgresLedgerOptions {
  /** An open database; the ledger closes it. */
  readonly database: Database;
  /** How long the database may take to answer, in milliseconds; 10,000 by default. */
  readonly timeoutMs?: number;
}

/**
 * Opens the ledger in PostgreSQL, for replicas on several machines. Creates the schema `tokenctl_scheduler`
 * if it is missing. Leases use the server's clock.
 *
 * @throws TokenctlError `database_unreachable`, `configuration` if the ledger is newer than the program,
 * `permission_refused` if the role may not create the schema, `busy` if another process does not finish
 * creating it.
 */
export async function openPostgresLedger(options: PostgresLedgerOptions): Promise<JobStore> {
  const { database, timeoutMs = TIMEOUT_MS } = options;
  await withTimeout(prepare(database, timeoutMs), 3 * timeoutMs);
  return new Ledger({
    now: NOW,
    transaction: (work) => withTimeout(database.transaction(work), timeoutMs),
    close: () => database.close(),
  });
}

async function prepare(database: Database, timeoutMs: number): Promise<void> {
  try {
    await database.transaction(async (transaction) => {
      await lockWithin(transaction, 'ledgerSchema', timeoutMs);
      const [found] = await transaction.query<{ schema: boolean; table: boolean }>(
        `SELECT to_regnamespace('tokenctl_scheduler') IS NOT NULL AS schema,
           to_regclass('tokenctl_scheduler.version') IS NOT NULL AS table`,
      );
      // Checked first: a role that may not create schemas may still use an existing one.
      if (found?.schema !== true) await transaction.execute(CREATE_SCHEMA);
      await createTables(transaction, {
        exist: found?.table === true,
        indexStatement: ({ name, unique, on }) =>
          `CREATE ${unique ? 'UNIQUE ' : ''}INDEX ${name} ON tokenctl_scheduler.${on}`,
      });
    });
  } catch (cause) {
    const state = cause instanceof Error && 'code' in cause ? cause.code : null;
    if (state === LOCK_NOT_AVAILABLE || state === QUERY_CANCELED) {
      const message = `Another process did not finish creating the scheduler's tables within ${timeoutMs / 1000} seconds`;
      const hint = 'Look for an advisory lock in pg_locks, and end the process that holds it.';
      throw new TokenctlError('busy', message, { hint, cause });
    }
    if (state !== INSUFFICIENT_PRIVILEGE) throw cause;
    throw new TokenctlError(
      'permission_refused',
      'The database role may not use the schema tokenctl_scheduler',
      {
        hint: 'Ask an administrator to run the statements in docs/jobs.md.',
        cause,
      },
    );
  }
}

const INSUFFICIENT_PRIVILEGE = '42501';
const LOCK_NOT_AVAILABLE = '55P03';
const QUERY_CANCELED = '57014';

/** A server may stop answering without closing the connection. */
async function withTimeout<T>(work: Promise<T>, timeoutMs: number): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const message = `The scheduler's database did not answer for ${timeoutMs / 1000} seconds`;
    reject(
      new TokenctlError('database_unreachable', message, { hint: 'Check the database; tokenctl retries.' }),
    );
  }, timeoutMs);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}
