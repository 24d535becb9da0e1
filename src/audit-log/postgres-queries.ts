import type { Database, Queryable } from '@tokenctl/common/db/database.ts';
import { lockWithin } from '@tokenctl/common/db/database.ts';
import { type Sql, sql } from '@tokenctl/common/db/sql.ts';
import type { EntrySelection } from '../operations/ports/audit-log.ts';
import type { LinkResult } from './chain.ts';
import { operationPrefix } from './entry.ts';

/**
 * The schema of an audit log in PostgreSQL, as in `docs/audit-log.md`. An administrator may create it in
 * advance, so that the appending role owns nothing and cannot disable the trigger.
 */
export const AUDIT_SCHEMA: readonly string[] = [
  'CREATE SCHEMA tokenctl_audit',
  `CREATE TABLE tokenctl_audit.entry (
  seq bigint PRIMARY KEY CHECK (seq > 0),
  hash text NOT NULL,
  line text NOT NULL,
  CHECK (hash = encode(sha256(convert_to(line, 'UTF8')), 'hex'))
)`,
  `CREATE FUNCTION tokenctl_audit.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'entries of the audit log are neither changed nor removed'
    USING ERRCODE = 'insufficient_privilege';
END $$`,
  `CREATE TRIGGER refuse BEFORE UPDATE OR DELETE OR TRUNCATE ON tokenctl_audit.entry
  FOR EACH STATEMENT EXECUTE FUNCTION tokenctl_audit.refuse()`,
  'ALTER TABLE tokenctl_audit.entry ENABLE ALWAYS TRIGGER refuse',
];

/**
 * Creates the schema if it is missing, waiting at most `timeoutMs` for another process that creates it. Any
 * statement may take twice that. Throws the database's error, for example for a missing permission.
 */
export function createAuditSchema(database: Database, timeoutMs: number): Promise<void> {
  return database.transaction(async (transaction) => {
    await lockWithin(transaction, 'auditLogSchema', timeoutMs);
    const found = await sql`SELECT to_regnamespace('tokenctl_audit') IS NOT NULL AS schema,
      to_regclass('tokenctl_audit.entry') IS NOT NULL
      AS table`.first<{ schema: boolean; table: boolean }>(transaction);
    if (found?.table === true) return;
    for (const statement of AUDIT_SCHEMA.slice(found?.schema === true ? 1 : 0)) {
      await transaction.execute(statement);
    }
  });
}

export interface StoredLine {
  readonly seq: number;
  readonly line: string;
}

const PAGE_SIZE = 500;

/**
 * Prepares a transaction for appending: it takes the lock of all appends, sees all earlier entries, and is on the
 * disk when it commits, whatever the database's defaults. The lock may take `timeoutMs`, any statement twice that.
 */
export async function lockForAppend(transaction: Queryable, timeoutMs: number): Promise<void> {
  await sql`SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE`.execute(transaction);
  await sql`SELECT set_config('synchronous_commit', CASE current_setting('synchronous_commit')
        WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true)`.execute(transaction);
  await lockWithin(transaction, 'auditLogAppend', timeoutMs);
}

export function lastRow(connection: Queryable): Promise<StoredLine | null> {
  return sql`SELECT seq, line FROM tokenctl_audit.entry ORDER BY seq DESC LIMIT 1`.first(connection);
}

export function rowsOf(connection: Queryable, seqs: readonly number[]): Promise<StoredLine[]> {
  return sql`SELECT seq, line FROM tokenctl_audit.entry
    WHERE seq = ANY(${seqs}::bigint[]) ORDER BY seq`.rows<StoredLine>(connection);
}

export async function insertLinks(transaction: Queryable, links: readonly LinkResult[]): Promise<void> {
  const linked = links.filter((link) => 'line' in link);
  if (linked.length === 0) return;
  const [sizes, hashes] = [linked.map(({ head }) => head.size), linked.map(({ head }) => head.hash)];
  const lines = linked.map(({ line }) => line);
  await sql`INSERT INTO tokenctl_audit.entry (seq, hash, line)
    SELECT * FROM unnest(${sizes}::bigint[], ${hashes}::text[], ${lines}::text[])`.execute(transaction);
}

export interface PageSelection {
  /** By default 1. */
  readonly from?: number | undefined;
  readonly upTo: number;
  /** Excludes most entries of other operations. */
  readonly only?: EntrySelection | undefined;
}

/** Streams rows in ascending order, page by page. */
export async function* pagesOf(
  connection: Queryable,
  { from, upTo, only }: PageSelection,
): AsyncIterable<readonly StoredLine[]> {
  if (only?.operations.length === 0) return;
  const prefix = only === undefined ? null : operationPrefix(only);
  for (let after: number | null = from === undefined ? null : from - 1; ; ) {
    const page: StoredLine[] = await sql`SELECT seq, line FROM tokenctl_audit.entry
      WHERE (${after}::bigint IS NULL OR seq > ${after}) AND seq <= ${upTo}
        AND (${prefix}::text IS NULL OR strpos(line, ${prefix}) > 0 OR line NOT LIKE '{"actor":{%')
      ORDER BY seq LIMIT ${PAGE_SIZE}`.rows<StoredLine>(connection);
    if (page.length > 0) yield page;
    if (page.length < PAGE_SIZE) return;
    after = page.at(-1)?.seq ?? null;
  }
}

/** The key of a run's advisory lock, distinct from those of other programs. */
const runLock = (run: unknown): Sql => sql`hashtextextended('tokenctl audit run ' || ${run}, 0)`;

/** A locked run: an advisory lock of a transaction that stays open. */
interface HeldLock {
  readonly database: Database;
  readonly transaction: Queryable;
  /** Ends the transaction, which releases the lock. */
  readonly release: () => void;
}

/**
 * Marks runs as active: each run holds an advisory lock in a transaction that changes nothing and stays open.
 * The lock ends with the connection, and so with the process, on any machine. The server detects a lost
 * machine by TCP keepalives.
 */
export class PostgresRunLocks {
  readonly #locks = new Map<string, HeldLock>();

  /** Locks a run until disposed of. Throws the error of the database. */
  async lock(database: Database, run: string): Promise<Disposable> {
    if (this.#locks.has(run)) throw new Error(`Run ${run} is already locked`);
    this.#locks.set(run, await takeRunLock(database, run));
    return { [Symbol.dispose]: () => this.#release(run) };
  }

  /** Retakes the locks whose connection was lost. */
  async renew(database: Database): Promise<void> {
    for (const [run, held] of this.#locks) {
      if (held.database === database && (await isAlive(held))) continue;
      held.release();
      const renewed = await takeRunLock(database, run);
      // It may have been disposed of meanwhile.
      if (this.#locks.get(run) === held) this.#locks.set(run, renewed);
      else renewed.release();
    }
  }

  releaseAll(): void {
    for (const run of this.#locks.keys()) this.#release(run);
  }

  #release(run: string): void {
    this.#locks.get(run)?.release();
    this.#locks.delete(run);
  }
}

/** Which of the given runs a live process has locked in this database. */
export async function lockedRuns(
  connection: Queryable,
  runs: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await sql`SELECT run FROM unnest(${runs}::text[]) AS run WHERE EXISTS (
      SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND ((classid::bigint << 32) | objid::bigint)
          = ${runLock(sql`run`)})`.rows<{ run: string }>(connection);
  return new Set(rows.map(({ run }) => run));
}

async function takeRunLock(database: Database, run: string): Promise<HeldLock> {
  const taken = Promise.withResolvers<Queryable>();
  const released = Promise.withResolvers<void>();
  database
    .transaction(async (transaction) => {
      // The transaction is idle on purpose. If the network is lost, keepalives end it within a minute.
      await sql`SELECT set_config(name, '0', true) FROM pg_settings
          WHERE name IN ('idle_in_transaction_session_timeout', 'transaction_timeout')
        UNION ALL SELECT set_config('tcp_keepalives_idle', '30', true)
        UNION ALL SELECT set_config('tcp_keepalives_interval', '10', true)
        UNION ALL SELECT set_config('tcp_keepalives_count', '3', true)`.execute(transaction);
      // Shared, so that a renewed lock need not wait until the server drops the lost connection.
      await sql`SELECT pg_advisory_xact_lock_shared(${runLock(run)})`.execute(transaction);
      taken.resolve(transaction);
      await released.promise;
    })
    .catch(taken.reject);
  return { database, transaction: await taken.promise, release: released.resolve };
}

async function isAlive({ transaction }: HeldLock): Promise<boolean> {
  return await sql`SELECT 1`.rows(transaction).then(
    () => true,
    () => false,
  );
}
