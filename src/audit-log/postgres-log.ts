import type { Database } from '../db/database.ts';
import { TokenctlError } from '../domain/errors.ts';
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
import { emptyHead } from './chain.ts';
import { within } from './deadline.ts';
import { parseEntry } from './entry.ts';
import { auditRefused, notAnEntry } from './failures.ts';
import { stateAfter } from './group-append.ts';
import type { Line } from './lines.ts';
import { type ChainState, type Linked, linkGroup } from './link-group.ts';
import { OperationTest } from './operation-test.ts';
import {
  insertLinks,
  lastRow,
  type PageSelection,
  pagesOf,
  rowsOf,
  type StoredLine,
  takeTurn,
} from './postgres-entries.ts';
import { isSchemaMissing, postgresUnavailable } from './postgres-failures.ts';
import { heldRuns, PostgresHolds } from './postgres-holds.ts';
import { makeAuditSchema } from './postgres-schema.ts';
import { verifyChain } from './verify-chain.ts';

/** Which database the log is in, and whose time it tells. */
export interface PostgresLogOptions {
  /**
   * Opens the database, at the first use and again after it fell silent. The log closes it. It lends out
   * at least two connections at a time: a run that is held keeps one.
   */
  readonly open: () => Promise<Database>;
  /** What the log is called in messages; without a password. */
  readonly name: string;
  readonly clock: Clock;
  /**
   * For how long, in milliseconds, an append waits for others; 15,000 where not given. It fails at the
   * latest after three times that, also where the database never answers.
   */
  readonly patience?: number;
}

const PATIENCE = 15_000;

const start: ChainState = { head: emptyHead, open: [] };

/**
 * Opens an audit log kept in PostgreSQL, in a schema of its own: `tokenctl_audit`. Many processes on many
 * machines may append to it: they take turns, and an append returns once it is committed with
 * `synchronous_commit`. The lines are those of a file, byte for byte. Nothing is opened or made before the
 * first use.
 *
 * The embedded database is refused: it syncs nothing to the disk.
 */
export function openPostgresLog(options: PostgresLogOptions): AuditLog {
  return new PostgresLog(options);
}

class PostgresLog implements AuditLog {
  readonly #open: () => Promise<Database>;
  readonly #name: string;
  readonly #clock: Clock;
  readonly #patience: number;
  readonly #holds = new PostgresHolds();
  readonly #queue: AppendQueue;
  #database: Promise<Database> | null = null;

  constructor({ open, name, clock, patience = PATIENCE }: PostgresLogOptions) {
    this.#open = open;
    this.#name = name;
    this.#clock = clock;
    this.#patience = patience;
    this.#queue = new AppendQueue({
      name,
      write: (drafts) => this.#bounded((database) => this.#write(database, drafts)),
      failure: (cause) => postgresUnavailable(name, 'written', cause),
    });
  }

  append(draft: EntryDraft): Promise<Entry> {
    return this.#queue.append(draft);
  }

  async *entries(from?: number, only?: EntrySelection): AsyncIterable<Entry> {
    const test = only === undefined ? null : new OperationTest(only);
    for await (const page of this.#pages({ from, only })) {
      for (const { bytes, seq = 0 } of page) {
        if (test?.isOther(bytes) === true) continue;
        const entry = parseEntry(bytes);
        if (entry === null) throw notAnEntry(this.#name, { line: seq });
        if (test?.isMeant(entry) !== false) yield entry;
      }
    }
  }

  async head(): Promise<Head> {
    const { head } = await this.#read(async (database) => this.#stateAfter(await lastRow(database)), start);
    return head;
  }

  verify(observer?: LogObserver): Promise<LogVerification> {
    return verifyChain(this.#pages(), { observer });
  }

  async holdRun(run: string): Promise<Disposable> {
    try {
      return await this.#bounded((database) => this.#holds.hold(database, run));
    } catch (cause) {
      throw postgresUnavailable(this.#name, 'written', cause);
    }
  }

  async abandonedIntents(): Promise<readonly Entry[]> {
    return await this.#read(async (database) => {
      const { open } = this.#stateAfter(await lastRow(database));
      if (open.length === 0) return [];
      const rows = await rowsOf(database, open);
      const intents = rows.map(({ line }) => parseEntry(Buffer.from(line))).filter((entry) => entry !== null);
      const held = await heldRuns(
        database,
        intents.map(({ run }) => run),
      );
      return intents.filter(({ run }) => !held.has(run));
    }, []);
  }

  async close(): Promise<void> {
    await this.#queue.idle();
    this.#holds.releaseAll();
    const database = this.#database;
    this.#database = null;
    await (await database?.catch(() => null))?.close();
  }

  async #write(database: Database, drafts: readonly EntryDraft[]): Promise<readonly Linked[]> {
    await this.#holds.renew(database);
    try {
      return await this.#commit(database, drafts);
    } catch (error) {
      if (!isSchemaMissing(error)) throw error;
      await makeAuditSchema(database);
      return await this.#commit(database, drafts);
    }
  }

  /** Where the connection is lost in the commit, the entries may be there: the next append finds out. */
  #commit(database: Database, drafts: readonly EntryDraft[]): Promise<readonly Linked[]> {
    return database.transaction(async (transaction) => {
      await takeTurn(transaction, this.#patience);
      const state = this.#stateAfter(await lastRow(transaction));
      const { links } = linkGroup(drafts, { state, clock: this.#clock });
      await insertLinks(transaction, links);
      return links;
    });
  }

  #stateAfter(row: StoredLine | null): ChainState {
    const state = stateAfter(this.#name, row === null ? null : Buffer.from(row.line));
    if (row !== null && row.seq !== state.head.size) {
      throw auditRefused(
        this.#name,
        `its last entry is stored as ${row.seq} and says ${state.head.size}`,
        'Find out with `tokenctl log verify`, keep the table, and configure another database.',
      );
    }
    return state;
  }

  /** All lines, or those of a selection, as the log stood at the beginning. */
  async *#pages({ from, only }: Omit<PageSelection, 'upTo'> = {}): AsyncIterable<readonly Line[]> {
    const size = await this.#read(async (database) => (await lastRow(database))?.seq ?? 0, 0);
    if (size === 0) return;
    try {
      for await (const page of pagesOf(await this.#connected(), { from, upTo: size, only })) {
        yield page.map(({ seq, line }) => ({ bytes: Buffer.from(line), ended: true, seq }));
      }
    } catch (cause) {
      throw postgresUnavailable(this.#name, 'read', cause);
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
    const database = await this.#open();
    if (database.kind === 'postgresql') return database;
    await database.close();
    throw auditRefused(
      this.#name,
      'the embedded database syncs nothing to the disk',
      'Configure PostgreSQL, or a file.',
    );
  }

  /** Reads; what is missing where the log has not been made yet is `otherwise`. */
  async #read<T>(work: (database: Database) => Promise<T>, otherwise: T): Promise<T> {
    try {
      return await this.#bounded(work);
    } catch (cause) {
      if (isSchemaMissing(cause)) return otherwise;
      throw postgresUnavailable(this.#name, 'read', cause);
    }
  }

  /** Gives a database up that answers nothing at all: the next use opens it anew. */
  async #bounded<T>(work: (database: Database) => Promise<T>): Promise<T> {
    const late = () => {
      const silent = this.#database;
      this.#database = null;
      silent?.then((database) => database.close()).catch(() => undefined);
      return new TokenctlError('database_unreachable', 'The database does not answer');
    };
    return await within(this.#connected().then(work), { limit: 3 * this.#patience, late });
  }
}
