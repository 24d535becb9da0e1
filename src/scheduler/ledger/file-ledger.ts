import { dirname } from 'node:path';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Queryable } from '../../db/database.ts';
import { makeFolder } from '../../db/file-system.ts';
import { TokenctlError } from '../../domain/errors.ts';
import type { JobStore } from '../../operations/ports/scheduler.ts';
import { createTables, Ledger } from './ledger.ts';

/** How long to wait for another process's transaction. Each takes a few milliseconds. */
const TIMEOUT_MS = 5_000;
/** The low byte of SQLite's "busy" result codes. */
const SQLITE_BUSY = 5;
const NOW = "CAST(unixepoch('subsec') * 1000 AS integer)";

/**
 * Opens the ledger in an SQLite file, for any number of processes on one machine. Creates the file and its
 * folder if they are missing. SQLite's locks end with the process that holds them. The file is attached under
 * the name of the schema in PostgreSQL, so that both databases take the same SQL.
 *
 * @throws TokenctlError `database_unreachable` if the file cannot be opened or is not a ledger,
 * `configuration` if it is newer than the program.
 */
export async function openFileLedger(path: string): Promise<JobStore> {
  const database = await open(path);
  let turn: Promise<unknown> = Promise.resolve();
  /** A connection runs one transaction at a time. */
  const transaction = <T>(work: (queryable: Queryable) => Promise<T>): Promise<T> => {
    const result = turn.then(() => inTransaction({ database, path }, work));
    turn = result.catch(() => undefined);
    return result;
  };
  try {
    await transaction((queryable) => prepare(queryable));
  } catch (error) {
    database.close();
    throw error;
  }
  return new Ledger({
    now: NOW,
    transaction,
    async close() {
      await turn;
      if (database.isOpen) database.close();
    },
  });
}

async function open(path: string): Promise<DatabaseSync> {
  let database: DatabaseSync | undefined;
  try {
    await makeFolder(dirname(path));
    database = new DatabaseSync(':memory:', { timeout: 0 });
    database.prepare('ATTACH DATABASE ? AS tokenctl_scheduler').run(path);
    // Committed data survives a power failure.
    database.exec('PRAGMA tokenctl_scheduler.synchronous = FULL');
    return database;
  } catch (cause) {
    database?.close();
    throw unusable(path, cause);
  }
}

async function prepare(queryable: Queryable): Promise<void> {
  const found = await queryable.query(
    "SELECT 1 FROM tokenctl_scheduler.sqlite_master WHERE name = 'version'",
  );
  await createTables(queryable, {
    exist: found.length > 0,
    indexStatement: ({ name, unique, on }) =>
      `CREATE ${unique ? 'UNIQUE ' : ''}INDEX tokenctl_scheduler.${name} ON ${on}`,
  });
}

async function inTransaction<T>(
  { database, path }: { readonly database: DatabaseSync; readonly path: string },
  work: (queryable: Queryable) => Promise<T>,
): Promise<T> {
  let begun = false;
  try {
    await begin(database);
    begun = true;
    const result = await work(queryable(database));
    database.exec('COMMIT');
    return result;
  } catch (cause) {
    if (begun && database.isTransaction) database.exec('ROLLBACK');
    throw cause instanceof TokenctlError ? cause : unusable(path, cause);
  }
}

/** Waits without blocking the event loop, which SQLite's own timeout would. */
async function begin(database: DatabaseSync): Promise<void> {
  const until = performance.now() + TIMEOUT_MS;
  for (let pause = 1; ; pause = Math.min(pause * 2, 50)) {
    try {
      database.exec('BEGIN IMMEDIATE');
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

function queryable(database: DatabaseSync): Queryable {
  const named = (values: readonly unknown[]) =>
    Object.fromEntries(values.map((value, index) => [`$${index + 1}`, value as SQLInputValue]));
  return {
    query: <R extends object>(sql: string, values: readonly unknown[] = []) =>
      Promise.resolve(database.prepare(sql).all(named(values)) as R[]),
    execute: (sql, values = []) => Promise.resolve(Number(database.prepare(sql).run(named(values)).changes)),
  };
}

function unusable(path: string, cause: unknown): TokenctlError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new TokenctlError('database_unreachable', `The scheduler's ledger ${path} cannot be used: ${why}`, {
    hint: 'Make its folder writable for this user, or set another file in scheduler.ledger.',
    cause,
  });
}
