import { setTimeout as sleep } from 'node:timers/promises';
import type { Queryable } from '@tokenctl/common/db/database.ts';
import {
  openPostgres,
  type PostgresDatabase,
  type PostgresOptions,
  sqlState,
} from '@tokenctl/common/db/postgres.ts';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { RightsPurpose } from '../../operations/ports/target.ts';
import { onlySchema, type RecognizedLayout, recognizeLayout } from './layout.ts';
import type { IdTable } from './queries.ts';
import { missingRights } from './rights.ts';
import { type Layout, TABLES } from './tables.ts';

/** How many tables and grants an error message lists. Its details contain all grants. */
const MAX_NAMED = 5;

type TableWithIds = 'accessTokens' | 'refreshTokens' | 'authorizationCodes' | 'users' | 'activity';

interface ConnectionOptions extends PostgresOptions {
  /** The signal that ends waits, once signals are caught. */
  readonly interruption?: (() => AbortSignal | undefined) | undefined;
}

/**
 * Opens the database of a controller, of a gateway or of the service, and detects its layout. All connections
 * are limited to the schema of its tables.
 * @throws TokenctlError `configuration` for an invalid connection string, `credentials_refused`,
 * `target_unreachable`, and `unsupported` for a database with other tables.
 */
export async function openConnection({ interruption, ...options }: ConnectionOptions): Promise<Connection> {
  let recognized: RecognizedLayout | undefined;
  const database = await openPostgres({
    ...options,
    // JIT compilation takes longer than these statements.
    settings: { jit: 'off', ...options.settings },
    findSettings: async (first, address) => {
      const { schema, ...layout } = await recognizeLayout(first, address);
      recognized = layout;
      return new Map([['search_path', onlySchema(schema)]]);
    },
  }).catch((error: unknown) => {
    throw databaseError(error, 'The database');
  });
  if (recognized === undefined) throw new Error('the first connection recognizes the layout');
  return new Connection(database, recognized, interruption);
}

/** A database whose layout was detected. */
export class Connection {
  readonly database: PostgresDatabase;
  readonly recognized: RecognizedLayout;

  constructor(
    database: PostgresDatabase,
    recognized: RecognizedLayout,
    interruption: () => AbortSignal | undefined = () => undefined,
  ) {
    this.database = interruptible(database, interruption);
    this.recognized = recognized;
  }

  get layout(): Layout {
    return this.recognized.layout;
  }

  /** `postgresql://host:port/database`. */
  get address(): string {
    return this.database.address;
  }

  /** A table with ids, to read it in pages. */
  table(name: TableWithIds): IdTable {
    return { name: TABLES[this.layout][name], reader: this.reader };
  }

  /** For reading. Throws as {@link read}. */
  readonly reader: Queryable = {
    query: <R extends object>(...statement: Parameters<Queryable['query']>) =>
      this.read((database) => database.query<R>(...statement)),
    execute: (...statement) => this.read((database) => database.execute(...statement)),
  };

  /** Runs read-only queries. `purpose` is for queries that need more rights than most. Throws as {@link explain}. */
  async read<T>(work: (database: Queryable) => Promise<T>, purpose: RightsPurpose = 'read'): Promise<T> {
    try {
      return await work(this.database);
    } catch (error) {
      throw await this.explain(purpose, error);
    }
  }

  /** Runs queries in one transaction. Throws as {@link explain}, with the rights that the purpose requires. */
  async write<T>(purpose: RightsPurpose, work: (transaction: Queryable) => Promise<T>): Promise<T> {
    try {
      return await this.database.transaction(work);
    } catch (error) {
      throw await this.explain(purpose, error);
    }
  }

  /** Translates a failed query into a TokenctlError. If rights are missing, the error explains how to grant them. */
  async explain(purpose: RightsPurpose, error: unknown): Promise<unknown> {
    const translated = databaseError(error, this.address);
    if (sqlState(error) !== '42501' || !(translated instanceof TokenctlError)) return translated;
    const purposes = purpose === 'read' ? ['read' as const] : ['read' as const, purpose];
    const missing = await missingRights(this.database, this.layout, purposes).catch(() => []);
    const grants = [...new Set(missing.map(({ grant }) => grant))];
    const tables = [...new Set(grants.map((grant) => / ON (?:SEQUENCE )?(\S+) TO /.exec(grant)?.[1] ?? ''))];
    return new TokenctlError(
      translated.code,
      tables.length === 0
        ? translated.message
        : `This role lacks permissions on ${firstTables(tables)} in ${this.address}`,
      {
        hint:
          grants.length === 0 || grants.length > MAX_NAMED
            ? 'Run `tokenctl context check` to print the missing grants, and ask the database administrator for them.'
            : `Ask the database administrator to run \`${grants.join('; ')};\``,
        cause: error,
        details: translated.details && { ...translated.details, grants },
      },
    );
  }
}

/** The same database, but after an interruption no answer is awaited for long. */
function interruptible(
  database: PostgresDatabase,
  interruption: () => AbortSignal | undefined,
): PostgresDatabase {
  return {
    ...database,
    query: <R extends object>(...statement: Parameters<Queryable['query']>) =>
      answerOf(database.query<R>(...statement), interruption()),
    execute: (...statement) => answerOf(database.execute(...statement), interruption()),
    transaction: (work, options) => answerOf(database.transaction(work, options), interruption()),
  };
}

/** How long an interruption waits for an answer, in milliseconds: ten times the usual duration of a batch. */
const GRACE_MS = 500;

/**
 * Waits for an answer, after an interruption no longer than {@link GRACE_MS}: a silent database would block
 * the program. Throws `target_unreachable` after that. What the database does is then unknown.
 */
export async function answerOf<T>(answer: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return await answer;
  const answered = new AbortController();
  const interrupted = Promise.withResolvers<void>();
  if (signal.aborted) interrupted.resolve();
  else signal.addEventListener('abort', () => interrupted.resolve(), { signal: answered.signal });
  const late = async (): Promise<never> => {
    await interrupted.promise;
    await sleep(GRACE_MS, undefined, { signal: answered.signal });
    throw new TokenctlError('target_unreachable', 'Interrupted before the database answered', {
      hint: 'Run the command again to process what remains.',
    });
  };
  try {
    return await Promise.race([answer, late()]);
  } finally {
    answered.abort();
  }
}

function firstTables(tables: readonly string[]): string {
  const more = tables.length - MAX_NAMED;
  return more <= 0 ? tables.join(', ') : `${tables.slice(0, MAX_NAMED).join(', ')} and ${more} more tables`;
}

/** Translates a database error into a TokenctlError with address and SQLSTATE, but no values. Others are unchanged. */
export function databaseError(error: unknown, address: string): unknown {
  if (error instanceof TokenctlError)
    return error.code === 'database_unreachable' ? connectError(error) : error;
  const state = sqlState(error);
  if (state === null) return error;
  const { message, code, hint } = describeState(state, address);
  return new TokenctlError(code, message, { hint, cause: error, details: { sqlstate: state } });
}

function connectError(error: TokenctlError): TokenctlError {
  const { message, cause } = error;
  const state = sqlState(cause) ?? '';
  if (state.startsWith('28')) {
    return new TokenctlError('credentials_refused', message, {
      hint: 'Check the role, its password, and that pg_hba.conf allows the connection from this machine.',
      cause,
    });
  }
  // While connecting, 42501 means that the role lacks the CONNECT right.
  if (state === '42501') return new TokenctlError('permission_refused', message, { cause });
  return new TokenctlError('target_unreachable', message, {
    hint:
      state === '57P01'
        ? 'An administrator ended the connection, or the server is shutting down. Completed work is kept: run the command again.'
        : (error.hint ?? 'Try again when the database is available.'),
    cause,
  });
}

interface StateDescription {
  readonly message: string;
  readonly code: TokenctlError['code'];
  readonly hint?: string;
}

function describeState(state: string, address: string): StateDescription {
  if (state === '42501') {
    return { message: `This role lacks the required permissions in ${address}`, code: 'permission_refused' };
  }
  if (state === '25006') {
    return {
      message: `${address} is read-only: a standby, or configured as read-only`,
      code: 'permission_refused',
      hint: 'Use the address of the primary server.',
    };
  }
  if (state === '57014') {
    return {
      message: `A statement timed out in ${address}`,
      code: 'target_unreachable',
      hint: 'Check the load of the database, and try again. Completed work is kept.',
    };
  }
  if (isLockConflict(state)) {
    return {
      message: `Another transaction holds a lock in ${address}`,
      code: 'busy',
      hint: 'Try again. pg_stat_activity and pg_locks show which transaction it is.',
    };
  }
  if (state.startsWith('23')) {
    return {
      message: `A constraint in ${address} rejects the change`,
      code: 'target_misbehaved',
      hint: "Look for foreign keys on these rows that are not part of the controller's schema.",
    };
  }
  return {
    message: `${address} rejected a statement (SQLSTATE ${state})`,
    code: 'target_misbehaved',
    hint: "Check the database server's log.",
  };
}

/** Serialization failure, deadlock, or lock not available. */
function isLockConflict(state: string): boolean {
  return state === '40001' || state === '40P01' || state === '55P03';
}

/** Whether a statement may succeed later with fewer rows: locks, a timeout, or (23503) a new reference to a row. */
export function isTransient(error: unknown): boolean {
  const state = sqlState(error);
  return state !== null && (isLockConflict(state) || state === '57014' || state === '23503');
}

/** Why rows could not be changed after all retries. */
export function retryFailureReason(error: unknown): string {
  switch (sqlState(error)) {
    case '23503':
      return 'another table of the database refers to it';
    case '57014':
      return 'the statement timed out';
    default:
      return LOCKED_REASON;
  }
}

export const LOCKED_REASON = 'another transaction locks it';
