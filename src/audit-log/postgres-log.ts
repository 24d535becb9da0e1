import type { Database } from '@tokenctl/common/db/database.ts';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import type {
  AuditLog,
  Entry,
  EntryDraft,
  EntrySelection,
  Head,
  LogObserver,
  LogVerification,
} from '../operations/ports/audit-log.ts';
import type { Clock } from '../operations/ports/clock.ts';
import { AppendQueue } from './append-queue.ts';
import { type ChainState, emptyHead, type LinkResult, linkGroup, stateAfter } from './chain.ts';
import { OperationFilter, parseEntry } from './entry.ts';
import { invalidLine, logRefused, withTimeout } from './failures.ts';
import type { Line } from './lines.ts';
import {
  AUDIT_SCHEMA,
  createAuditSchema,
  insertLinks,
  lastRow,
  lockedRuns,
  lockForAppend,
  type PageSelection,
  PostgresRunLocks,
  pagesOf,
  rowsOf,
  type StoredLine,
} from './postgres-queries.ts';
import { verifyChain } from './verify-chain.ts';

export interface PostgresLogOptions {
  /** Opens the database, again after a timeout. The log closes it. A locked run keeps one of its connections. */
  readonly open: () => Promise<Database>;
  /** The log's name in messages, without a password. */
  readonly name: string;
  readonly clock: Clock;
  /** How long an append waits, in milliseconds; by default 15,000. A silent database fails after three times that. */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 15_000;

const emptyState: ChainState = { head: emptyHead, open: [] };

/**
 * Opens an audit log in PostgreSQL, in its own schema `tokenctl_audit`. Many processes on many machines may
 * append to it, one at a time. An append returns when it is committed with `synchronous_commit`. The lines
 * are the same as in a file, byte for byte. Nothing is opened or created before the first use.
 *
 * The embedded database is refused, because it does not sync to the disk.
 */
export function openPostgresLog(options: PostgresLogOptions): AuditLog {
  return new PostgresLog(options);
}

class PostgresLog implements AuditLog {
  readonly #options: Required<PostgresLogOptions>;
  readonly #runLocks = new PostgresRunLocks();
  readonly #queue: AppendQueue;
  #database: Promise<Database> | null = null;

  constructor(options: PostgresLogOptions) {
    const { name } = options;
    this.#options = { timeoutMs: TIMEOUT_MS, ...options };
    this.#queue = new AppendQueue({
      name,
      write: (drafts) => this.#bounded((database) => this.#write(database, drafts)),
      failure: (cause) => postgresUnavailable(name, 'write', cause),
    });
  }

  append(draft: EntryDraft): Promise<Entry> {
    return this.#queue.append(draft);
  }

  async *entries(from?: number, only?: EntrySelection): AsyncIterable<Entry> {
    const filter = only === undefined ? null : new OperationFilter(only);
    for await (const page of this.#pages({ from, only })) {
      for (const { bytes, seq = 0 } of page) {
        if (filter?.rejects(bytes) === true) continue;
        const entry = parseEntry(bytes);
        if (entry === null) throw invalidLine(this.#options.name, { line: seq });
        if (filter?.accepts(entry) !== false) yield entry;
      }
    }
  }

  async head(): Promise<Head> {
    const { head } = await this.#read(
      async (database) => this.#stateAfter(await lastRow(database)),
      emptyState,
    );
    return head;
  }

  verify(observer?: LogObserver): Promise<LogVerification> {
    return verifyChain(this.#pages(), { observer });
  }

  async lockRun(run: string): Promise<Disposable> {
    try {
      return await this.#bounded((database) => this.#runLocks.lock(database, run));
    } catch (cause) {
      throw postgresUnavailable(this.#options.name, 'write', cause);
    }
  }

  async abandonedIntents(): Promise<readonly Entry[]> {
    return await this.#read(async (database) => {
      const { open } = this.#stateAfter(await lastRow(database));
      if (open.length === 0) return [];
      const rows = await rowsOf(database, open);
      const intents = rows.map(({ line }) => parseEntry(Buffer.from(line))).filter((entry) => entry !== null);
      const locked = await lockedRuns(
        database,
        intents.map(({ run }) => run),
      );
      return intents.filter(({ run }) => !locked.has(run));
    }, []);
  }

  async close(): Promise<void> {
    await this.#queue.idle();
    this.#runLocks.releaseAll();
    const database = this.#database;
    this.#database = null;
    await (await database?.catch(() => null))?.close();
  }

  async #write(database: Database, drafts: readonly EntryDraft[]): Promise<readonly LinkResult[]> {
    await this.#runLocks.renew(database);
    try {
      return await this.#commit(database, drafts);
    } catch (error) {
      if (!isSchemaMissing(error)) throw error;
      await createAuditSchema(database, this.#options.timeoutMs);
      return await this.#commit(database, drafts);
    }
  }

  /** If the connection is lost during the commit, the entries may be stored. The next append re-reads the last row. */
  #commit(database: Database, drafts: readonly EntryDraft[]): Promise<readonly LinkResult[]> {
    return database.transaction(async (transaction) => {
      await lockForAppend(transaction, this.#options.timeoutMs);
      const state = this.#stateAfter(await lastRow(transaction));
      const { links } = linkGroup(drafts, { name: this.#options.name, state, clock: this.#options.clock });
      await insertLinks(transaction, links);
      return links;
    });
  }

  #stateAfter(row: StoredLine | null): ChainState {
    const state = stateAfter(this.#options.name, row === null ? null : Buffer.from(row.line));
    if (row !== null && row.seq !== state.head.size) {
      throw logRefused(
        this.#options.name,
        `row ${row.seq}, its last one, has entry ${state.head.size}`,
        'Run `tokenctl log verify`, leave the table unchanged, and configure another database.',
      );
    }
    return state;
  }

  /** All lines, or those of a selection, up to the current last entry. */
  async *#pages({ from, only }: Omit<PageSelection, 'upTo'> = {}): AsyncIterable<readonly Line[]> {
    const size = await this.#read(async (database) => (await lastRow(database))?.seq ?? 0, 0);
    if (size === 0) return;
    try {
      for await (const page of pagesOf(await this.#connected(), { from, upTo: size, only })) {
        yield page.map(({ seq, line }) => ({ bytes: Buffer.from(line), isText: true, ended: true, seq }));
      }
    } catch (cause) {
      throw postgresUnavailable(this.#options.name, 'read', cause);
    }
  }

  #connected(): Promise<Database> {
    if (this.#database === null) {
      const opening = this.#openChecked();
      this.#database = opening;
      opening.catch(() => {
        if (this.#database === opening) this.#database = null;
      });
    }
    return this.#database;
  }

  async #openChecked(): Promise<Database> {
    const database = await this.#options.open();
    if (database.kind === 'postgresql') return database;
    await database.close();
    throw logRefused(
      this.#options.name,
      'the embedded database does not sync to the disk',
      'Configure PostgreSQL or a file.',
    );
  }

  /** Reads, with a default for a log whose schema does not exist yet. */
  async #read<T>(work: (database: Database) => Promise<T>, defaultValue: T): Promise<T> {
    try {
      return await this.#bounded(work);
    } catch (cause) {
      if (isSchemaMissing(cause)) return defaultValue;
      throw postgresUnavailable(this.#options.name, 'read', cause);
    }
  }

  /** Drops an unresponsive database. The next use reopens it. */
  async #bounded<T>(work: (database: Database) => Promise<T>): Promise<T> {
    const onTimeout = () => {
      const unresponsive = this.#database;
      this.#database = null;
      unresponsive?.then((database) => database.close()).catch(() => undefined);
      return new TokenctlError('database_unreachable', 'The database did not respond');
    };
    return await withTimeout(this.#connected().then(work), {
      timeoutMs: 3 * this.#options.timeoutMs,
      onTimeout,
    });
  }
}

/** The error for an unusable log in PostgreSQL. `action` completes "Could not … the audit log". */
function postgresUnavailable(name: string, action: string, cause: unknown): TokenctlError {
  if (cause instanceof TokenctlError && cause.code !== 'database_unreachable') return cause;
  const state = sqlState(cause);
  const known = state === undefined ? undefined : reasons[state];
  const why = known?.why ?? (cause instanceof TokenctlError ? cause.message : state);
  return new TokenctlError(
    'audit_unavailable',
    `Could not ${action} the audit log ${name}: ${why ?? 'unknown reason'}`,
    {
      hint:
        known?.hint ?? 'Try again when the database is available. Nothing is changed without the audit log.',
      ...(state === NO_PERMISSION && { details: { sql: `${AUDIT_SCHEMA.join(';\n')};` } }),
      cause,
    },
  );
}

function isSchemaMissing(error: unknown): boolean {
  const state = sqlState(error);
  return state === '3F000' || state === '42P01';
}

/** The SQLSTATE of an error or of its cause. */
function sqlState(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  if ('code' in error && typeof error.code === 'string' && /^[0-9A-Z]{5}$/.test(error.code))
    return error.code;
  return sqlState(error.cause);
}

const NO_PERMISSION = '42501';

const reasons: Readonly<Record<string, { why: string; hint: string }>> = {
  [NO_PERMISSION]: {
    why: 'the role has no permission',
    hint: 'Ask an administrator to run the SQL in `tokenctl docs audit-log` (also in error.details with --json), and to GRANT this role USAGE on the schema, and SELECT and INSERT on the table.',
  },
  '28000': { why: 'the login was refused', hint: 'Check the URL of the audit log, and pg_hba.conf.' },
  '28P01': { why: 'the password is wrong', hint: 'Check the URL of the audit log.' },
  '22P05': {
    why: 'the encoding of the database cannot store it',
    hint: 'Use a database with the encoding UTF8.',
  },
  '25006': { why: 'the database is read-only', hint: 'Configure the URL of the primary.' },
  '53100': { why: 'the disk of the database is full', hint: 'Free some disk space.' },
  '55P03': {
    why: 'another process held its lock for too long',
    hint: 'Find the advisory lock in pg_locks, and end the process that holds it.',
  },
  '57014': { why: 'a statement timed out', hint: 'Look for blocking sessions in pg_stat_activity.' },
};
