import type { Database } from '../../db/database.ts';
import { TokenctlError } from '../../domain/errors.ts';
import type { JobStore } from '../../operations/ports/scheduler.ts';
import { CREATE_SCHEMA, createTables, Ledger } from './ledger.ts';

/** Any number of its own: whoever makes the ledger takes this lock. */
const SCHEMA_LOCK = 7_305_114_203;
const TIMEOUT_MS = 10_000;
const NOW = 'CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)';

/** Which database the ledger is in. */
export interface PostgresLedgerOptions {
  /** Opened already; the ledger closes it. */
  readonly database: Database;
  /** For how long, in milliseconds, the database may take to answer; 10,000 where not given. */
  readonly patience?: number;
}

/**
 * Opens the ledger in PostgreSQL, in a schema of its own (`tokenctl_scheduler`), which is made if need be:
 * replicas on many machines share it. Leases run on the server's clock.
 *
 * @throws TokenctlError `database_unreachable`, `configuration` where the ledger is newer than the program,
 * `permission_refused` where the role may not make what is missing.
 */
export async function openPostgresLedger(options: PostgresLedgerOptions): Promise<JobStore> {
  const { database, patience = TIMEOUT_MS } = options;
  await prepare(database);
  return new Ledger({
    now: NOW,
    transaction: (work) => bounded(database.transaction(work), patience),
    close: () => database.close(),
  });
}

async function prepare(database: Database): Promise<void> {
  try {
    await database.transaction(async (transaction) => {
      await transaction.query('SELECT pg_advisory_xact_lock($1)', [SCHEMA_LOCK]);
      const [found] = await transaction.query<{ schema: boolean; table: boolean }>(
        `SELECT to_regnamespace('tokenctl_scheduler') IS NOT NULL AS schema,
           to_regclass('tokenctl_scheduler.version') IS NOT NULL AS table`,
      );
      // Asked for first: a role without the right to make a schema may use one that is there.
      if (found?.schema !== true) await transaction.execute(CREATE_SCHEMA);
      await createTables(transaction, {
        exist: found?.table === true,
        indexStatement: ({ name, unique, on }) =>
          `CREATE ${unique ? 'UNIQUE ' : ''}INDEX ${name} ON tokenctl_scheduler.${on}`,
      });
    });
  } catch (cause) {
    if (!isInsufficientPrivilege(cause)) throw cause;
    throw new TokenctlError(
      'permission_refused',
      'The database role may not use the schema tokenctl_scheduler',
      {
        hint: 'docs/jobs.md lists the statements that an administrator runs once.',
        cause,
      },
    );
  }
}

/** SQLSTATE 42501. */
function isInsufficientPrivilege(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '42501';
}

/** A server that fell silent without closing the connection must not keep a run from noticing it. */
async function bounded<T>(work: Promise<T>, patience: number): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const message = `The scheduler's database did not answer for ${patience / 1000} seconds`;
    reject(new TokenctlError('database_unreachable', message, { hint: 'It is asked again.' }));
  }, patience);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}
