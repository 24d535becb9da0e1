import { open as openFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { TokenctlError } from '../errors.ts';
import { ADVISORY_LOCKS, type Database, lockWithin, type Queryable } from './database.ts';
import { makeFolder } from './file-system.ts';
import { type Sql, sql } from './sql.ts';

/** An index of the tables. PostgreSQL and SQLite qualify index names in different places. */
interface StateIndex {
  readonly name: string;
  readonly unique: boolean;
  readonly on: string;
}

/** Tables of the program's own state, in SQL that PostgreSQL and SQLite share. */
export interface StateSchema {
  /** The schema in PostgreSQL. In SQLite, the file is attached under this name. It has a table `version`. */
  readonly name: string;
  /** The name in messages: `scheduler's ledger`. */
  readonly what: string;
  /** The setting with the place: `scheduler.ledger`. */
  readonly setting: string;
  /** The documentation page about the required rights of a database role. */
  readonly docs: string;
  readonly lock: Extract<keyof typeof ADVISORY_LOCKS, `${string}Schema`>;
  /** The version of the tables, from 1. */
  readonly version: number;
  /** How an error about newer tables begins, and its hint. */
  readonly newer: { readonly subject: string; readonly hint: string };
  /** Creates the tables (from null), or migrates older ones, in an exclusive transaction. `version` is not its task. */
  create(
    queryable: Queryable,
    options: { readonly from: number | null; readonly addIndex: (index: StateIndex) => Promise<unknown> },
  ): Promise<void>;
}

export interface StateTables {
  /** The database's time in milliseconds since 1970, as an SQL expression. */
  readonly now: Sql;
  /** Runs `work` in one transaction. Committed data is on stable storage. Throws `database_unreachable`. */
  transaction<T>(work: (queryable: Queryable) => Promise<T>): Promise<T>;
  /** Waits for other transactions that call this, and blocks them until this one ends. SQLite has one writer anyway. */
  takeTurn(queryable: Queryable): Promise<void>;
  close(): Promise<void>;
}

/** How long to wait for another process's transaction, in milliseconds. Each takes a few, or seconds on a busy disk. */
const FILE_TIMEOUT_MS = 15_000;
/** The low byte of SQLite's "busy" result codes. */
const SQLITE_BUSY = 5;

/** Where tables are: the path of an SQLite file, or PostgreSQL. */
export type StatePlace = string | StateDatabaseOptions;

/** Opens tables, and creates or migrates them if need be. Throws as {@link openStateFile} and {@link openStateDatabase}. */
export function openStateTables(place: StatePlace, schema: StateSchema): Promise<StateTables> {
  return typeof place === 'string' ? openStateFile(place, schema) : openStateDatabase(place, schema);
}

/** Throws `configuration` if the tables are newer. */
async function prepareTables(
  queryable: Queryable,
  { name, version, newer, create }: StateSchema,
  { exist, indexStatement }: { exist: boolean; indexStatement: (index: StateIndex) => string },
): Promise<void> {
  const [row] = exist
    ? await queryable.query<{ number: number }>(`SELECT number FROM ${name}.version`)
    : [{ number: null }];
  const from = row === undefined ? 0 : row.number;
  if (from === version) return;
  if (from !== null && (from < 1 || from > version)) {
    const message = `${newer.subject} has version ${from}; this program supports version ${version}`;
    throw new TokenctlError('configuration', message, { hint: newer.hint });
  }
  await create(queryable, { from, addIndex: (index) => queryable.execute(indexStatement(index)) });
  await queryable.execute(
    from === null ? `CREATE TABLE ${name}.version (number integer NOT NULL)` : `DELETE FROM ${name}.version`,
  );
  await queryable.execute(`INSERT INTO ${name}.version (number) VALUES ($1)`, [version]);
}

/**
 * Opens tables in an SQLite file, for any number of processes on one machine. Creates the file and its folder
 * if needed. SQLite's locks end with the process that holds them.
 * @throws TokenctlError `database_unreachable` if it cannot be opened or is another kind of file,
 * `configuration` if it is newer.
 */
async function openStateFile(path: string, schema: StateSchema): Promise<StateTables> {
  const database = await open(path, schema);
  let turn: Promise<unknown> = Promise.resolve();
  /** A connection runs one transaction at a time. */
  const transaction = <T>(work: (queryable: Queryable) => Promise<T>): Promise<T> => {
    const result = turn.then(() => inTransaction({ database, path, schema }, work));
    turn = result.catch(() => undefined);
    return result;
  };
  try {
    await transaction((queryable) => prepareFile(queryable, schema));
  } catch (error) {
    database.close();
    throw error;
  }
  return {
    now: sql`CAST(unixepoch('subsec') * 1000 AS integer)`,
    transaction,
    takeTurn: () => Promise.resolve(),
    async close() {
      await turn;
      if (database.isOpen) database.close();
    },
  };
}

async function open(path: string, schema: StateSchema): Promise<DatabaseSync> {
  let database: DatabaseSync | undefined;
  try {
    await makeFolder(dirname(path));
    // SQLite would create it with the umask, but the queue of signals contains email addresses.
    await (await openFile(path, 'a', 0o600)).close();
    const opened = new DatabaseSync(':memory:', { timeout: 0 });
    database = opened;
    await whenFree(() => opened.prepare(`ATTACH DATABASE ? AS ${schema.name}`).run(path));
    // Committed data survives a power failure.
    database.exec(`PRAGMA ${schema.name}.synchronous = FULL`);
    return database;
  } catch (cause) {
    database?.close();
    throw unusable(path, schema, cause);
  }
}

async function prepareFile(queryable: Queryable, schema: StateSchema): Promise<void> {
  const found = await queryable.query(`SELECT 1 FROM ${schema.name}.sqlite_master WHERE name = 'version'`);
  await prepareTables(queryable, schema, {
    exist: found.length > 0,
    indexStatement: ({ name, unique, on }) =>
      `CREATE ${unique ? 'UNIQUE ' : ''}INDEX ${schema.name}.${name} ON ${on}`,
  });
}

async function inTransaction<T>(
  { database, path, schema }: { database: DatabaseSync; path: string; schema: StateSchema },
  work: (queryable: Queryable) => Promise<T>,
): Promise<T> {
  let begun = false;
  try {
    await whenFree(() => database.exec('BEGIN IMMEDIATE'));
    begun = true;
    const result = await work(fileQueryable(database));
    // Another process that is about to start holds a shared lock briefly, during which SQLite refuses COMMIT.
    await whenFree(() => database.exec('COMMIT'));
    return result;
  } catch (cause) {
    if (begun && database.isTransaction) database.exec('ROLLBACK');
    throw cause instanceof TokenctlError ? cause : unusable(path, schema, cause);
  }
}

/** Waits for other processes without blocking the event loop, unlike SQLite's own timeout. */
async function whenFree(act: () => unknown): Promise<void> {
  const until = performance.now() + FILE_TIMEOUT_MS;
  for (let pause = 1; ; pause = Math.min(pause * 2, 50)) {
    try {
      act();
      return;
    } catch (error) {
      if (!isBusy(error) || performance.now() > until) throw error;
    }
    await sleep(pause * (0.5 + Math.random() / 2));
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && (Number(error.errcode) & 0xff) === SQLITE_BUSY;
}

function fileQueryable(database: DatabaseSync): Queryable {
  const named = (values: readonly unknown[]) =>
    Object.fromEntries(values.map((value, index) => [`$${index + 1}`, value as SQLInputValue]));
  return {
    query: <R extends object>(sql: string, values: readonly unknown[] = []) =>
      Promise.resolve(database.prepare(sql).all(named(values)) as R[]),
    execute: (sql, values = []) => Promise.resolve(Number(database.prepare(sql).run(named(values)).changes)),
  };
}

function unusable(path: string, { what, setting }: StateSchema, cause: unknown): TokenctlError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new TokenctlError('database_unreachable', `Cannot use the ${what} ${path}: ${why}`, {
    hint: `Make its directory writable for this user, or set another file in ${setting}.`,
    cause,
  });
}

const DATABASE_TIMEOUT_MS = 10_000;

/** Where tables are in PostgreSQL. */
interface StateDatabaseOptions {
  /** An open database; closing the tables closes it. */
  readonly database: Database;
  /** The response timeout in milliseconds; 10,000 by default. */
  readonly timeoutMs?: number;
}

/**
 * Opens tables in PostgreSQL, for replicas on several machines. Creates the schema if it is missing.
 * @throws TokenctlError `database_unreachable`, `configuration` if they are newer, `permission_refused` if
 * the role may not create the schema, `busy` if another process does not finish creating it.
 */
async function openStateDatabase(
  { database, timeoutMs = DATABASE_TIMEOUT_MS }: StateDatabaseOptions,
  schema: StateSchema,
): Promise<StateTables> {
  const limited = <T>(work: Promise<T>, limit: number) => withTimeout(work, limit, schema);
  await limited(prepareDatabase(database, { timeoutMs, schema }), 3 * timeoutMs);
  return {
    now: sql`CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)`,
    transaction: (work) => limited(database.transaction(work), timeoutMs),
    async takeTurn(queryable) {
      await queryable.execute('SELECT pg_advisory_xact_lock($1)', [ADVISORY_LOCKS[schema.lock]]);
    },
    close: () => database.close(),
  };
}

async function prepareDatabase(
  database: Database,
  { timeoutMs, schema }: { timeoutMs: number; schema: StateSchema },
): Promise<void> {
  const { name, what, docs } = schema;
  try {
    await database.transaction(async (transaction) => {
      await lockWithin(transaction, schema.lock, timeoutMs);
      const [found] = await transaction.query<{ schema: boolean; table: boolean }>(
        `SELECT to_regnamespace('${name}') IS NOT NULL AS schema,
           to_regclass('${name}.version') IS NOT NULL AS table`,
      );
      // Checked first: a role that may not create schemas may still use an existing one.
      if (found?.schema !== true) await transaction.execute(`CREATE SCHEMA IF NOT EXISTS ${name}`);
      await prepareTables(transaction, schema, {
        exist: found?.table === true,
        indexStatement: ({ name: index, unique, on }) =>
          `CREATE ${unique ? 'UNIQUE ' : ''}INDEX ${index} ON ${name}.${on}`,
      });
    });
  } catch (cause) {
    const state = cause instanceof Error && 'code' in cause ? cause.code : null;
    if (state === LOCK_NOT_AVAILABLE || state === QUERY_CANCELED) {
      const message = `Another process did not finish creating the tables of the ${what} within ${timeoutMs / 1000} seconds`;
      const hint = 'Find the advisory lock in pg_locks, and end the process that holds it.';
      throw new TokenctlError('busy', message, { hint, cause });
    }
    if (state !== INSUFFICIENT_PRIVILEGE) throw cause;
    throw new TokenctlError(
      'permission_refused',
      `The database role is not allowed to use the schema ${name}`,
      { hint: `Ask an administrator to run the statements in \`tokenctl docs ${docs}\`.`, cause },
    );
  }
}

const INSUFFICIENT_PRIVILEGE = '42501';
const LOCK_NOT_AVAILABLE = '55P03';
const QUERY_CANCELED = '57014';

/** A server may stop responding without closing the connection. */
async function withTimeout<T>(work: Promise<T>, timeoutMs: number, { what }: StateSchema): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const message = `The database of the ${what} did not respond for ${timeoutMs / 1000} seconds`;
    reject(
      new TokenctlError('database_unreachable', message, { hint: 'Check the database. tokenctl retries.' }),
    );
  }, timeoutMs);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}
