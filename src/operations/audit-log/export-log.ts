import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { AuditLog, Entry } from '../ports/audit-log.ts';
import type { EntryContext, ExportCursor, ExportPosition, LogFormat, LogSink } from '../ports/log-sink.ts';

export interface ExportLogOptions {
  readonly log: Pick<AuditLog, 'entries' | 'head'>;
  readonly format: LogFormat;
  readonly sink: LogSink;
  /** Remembers the position. Without a cursor, every run starts again. */
  readonly cursor?: ExportCursor | undefined;
  /** The first entry, by number or time, if the cursor has no position. Default: entry 1. */
  readonly since?: number | Date | undefined;
  /** Keeps exporting new entries until the signal. */
  readonly follow?: FollowOptions | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** How to wait for new entries. */
interface FollowOptions {
  /** Waits between polls of the log, and before a retry. Returns early on the signal. */
  readonly wait: (milliseconds: number) => Promise<void>;
  /** Receives each error of the sink. */
  readonly onFailure: (error: TokenctlError) => void;
}

export interface ExportReport {
  readonly entries: number;
  readonly records: number;
  /** The number of the last exported entry; 0 for none. */
  readonly last: number;
}

const POLL_INTERVAL_MS = 1_000;
const MAX_RETRY_DELAY_MS = 30_000;

/**
 * Exports the audit log, oldest entry first, starting after the position of the cursor. Each entry is sent at
 * least once: the cursor moves after the sink accepted all records of an entry, so an interrupted run may
 * send some records again.
 *
 * The export only reads the log: a slow sink does not block appends.
 * @throws TokenctlError `log_broken` if the cursor belongs to another log or a line is not an entry,
 * `not_found` if retention removed the next entries, `audit_unavailable`, and the errors of sink and cursor.
 * With `follow`, an unreachable sink is retried instead.
 */
export async function exportLog(options: ExportLogOptions): Promise<ExportReport> {
  const { follow } = options;
  const run = await ExportRun.begin(options);
  if (follow === undefined) {
    await run.exportNew();
    return run.report();
  }
  for (let failures = 0; options.signal?.aborted !== true; ) {
    try {
      await run.exportNew();
      failures = 0;
      await follow.wait(POLL_INTERVAL_MS);
    } catch (error) {
      if (!isRetryable(error)) throw error;
      follow.onFailure(error);
      await follow.wait(Math.min(POLL_INTERVAL_MS * 2 ** failures, MAX_RETRY_DELAY_MS));
      failures += 1;
    }
  }
  return run.report();
}

function isRetryable(error: unknown): error is TokenctlError {
  return (
    error instanceof TokenctlError &&
    (error.code === 'target_unreachable' || error.code === 'target_misbehaved')
  );
}

class ExportRun {
  readonly #options: ExportLogOptions;
  readonly #intents: OpenIntents;
  #position: ExportPosition;
  /** Whether the log was checked to have the entry at the position. */
  #isPositionChecked: boolean;
  #entries = 0;
  #records = 0;

  private constructor(options: ExportLogOptions, position: ExportPosition | null) {
    this.#options = options;
    this.#intents = new OpenIntents(options.log);
    this.#position = position ?? {
      seq: typeof options.since === 'number' ? options.since - 1 : 0,
      previous: null,
    };
    this.#isPositionChecked = position === null || position.seq === 0;
  }

  static async begin(options: ExportLogOptions): Promise<ExportRun> {
    return new ExportRun(options, (await options.cursor?.load()) ?? null);
  }

  report(): ExportReport {
    return { entries: this.#entries, records: this.#records, last: this.#position.seq };
  }

  async exportNew(): Promise<void> {
    const { log, signal } = this.#options;
    const { size } = await log.head();
    if (size < this.#position.seq && !this.#isPositionChecked) throw this.#cutOffError(size);
    if (size <= this.#position.seq) return;
    const batch = new RecordBatch(this.#options.sink);
    let last: ExportPosition | null = null;
    for await (const entry of log.entries(Math.max(this.#position.seq, 1))) {
      if (signal?.aborted === true) break;
      if (entry.seq <= this.#position.seq) {
        this.#checkPosition(entry);
        continue;
      }
      this.#requireNext(entry, last?.seq ?? this.#position.seq);
      await this.#add(entry, batch);
      last = { seq: entry.seq, previous: entry.previous };
      if (batch.isFull) await this.#accepted(batch, last);
    }
    if (last !== null) await this.#accepted(batch, last);
  }

  async #add(entry: Entry, batch: RecordBatch): Promise<void> {
    const context = await this.#intents.of(entry);
    if (this.#options.since instanceof Date && Date.parse(entry.at) < this.#options.since.getTime()) return;
    this.#entries += 1;
    for (const record of this.#options.format.records(entry, context)) {
      this.#records += 1;
      await batch.add(record);
    }
  }

  async #accepted(batch: RecordBatch, position: ExportPosition): Promise<void> {
    await batch.flush();
    this.#position = position;
    this.#isPositionChecked = true;
    await this.#options.cursor?.save(position);
  }

  #checkPosition(entry: Entry): void {
    const { seq, previous } = this.#position;
    if (entry.seq !== seq || this.#isPositionChecked) return;
    if (entry.previous !== previous) {
      throw new TokenctlError(
        'log_broken',
        `Entry ${seq} of the log differs from the exported entry ${seq}`,
        {
          hint: 'The cursor belongs to another log, or the log was rewritten. Run `tokenctl log verify`.',
          details: { seq },
        },
      );
    }
    this.#isPositionChecked = true;
  }

  #requireNext({ seq }: Entry, before: number): void {
    if (seq === before + 1 || before === 0 || this.#position.previous === null) return;
    throw new TokenctlError('not_found', `Entries ${before + 1} to ${seq - 1} are no longer in the log`, {
      hint: `Retention removed them. To skip them, delete the cursor and use --since ${seq}.`,
      details: { from: before + 1, to: seq - 1 },
    });
  }

  #cutOffError(size: number): TokenctlError {
    const { seq } = this.#position;
    return new TokenctlError(
      'log_broken',
      `The log ends at entry ${size}, but ${seq} entries were exported`,
      {
        hint: 'The cursor belongs to another log, or the log was cut off. Run `tokenctl log verify`.',
        details: { entries: size, exported: seq },
      },
    );
  }
}

/** Open intents while a log is read, to match with outcomes. Bounded by the number of concurrent runs. */
export class OpenIntents {
  readonly #log: Pick<AuditLog, 'entries'>;
  readonly #intents = new Map<number, Entry>();
  #isBegun = false;

  constructor(log: Pick<AuditLog, 'entries'>) {
    this.#log = log;
  }

  /**
   * Takes the next entry, and returns the intents it belongs to, if the log still has them. Reading may start
   * at any entry: intents opened before it are looked up.
   */
  async of(entry: Entry): Promise<EntryContext> {
    if (!this.#isBegun) await this.#lookUp(entry);
    this.#isBegun = true;
    if (entry.kind === 'intent') this.#intents.set(entry.seq, entry);
    const opening = this.#openingOf(entry.run);
    if (entry.closes === undefined) return { opening };
    const intent = this.#intents.get(entry.closes);
    this.#intents.delete(entry.closes);
    return { intent, opening };
  }

  /** A run's first intent is the last one to be closed. */
  #openingOf(run: string): Entry | undefined {
    for (const intent of this.#intents.values()) if (intent.run === run) return intent;
    return undefined;
  }

  async #lookUp({ seq, open, closes }: Entry): Promise<void> {
    const wanted = new Set([...open, ...(closes === undefined ? [] : [closes])]);
    wanted.delete(seq);
    if (wanted.size === 0) return;
    for await (const entry of this.#log.entries(Math.min(...wanted))) {
      if (entry.seq >= seq) return;
      if (wanted.has(entry.seq)) this.#intents.set(entry.seq, entry);
    }
  }
}

/** The maximum number of records per batch. */
const RECORDS = 500;
/** The maximum number of characters per batch. */
const CHARACTERS = 256 * 1024;

class RecordBatch {
  readonly #sink: LogSink;
  #records: string[] = [];
  #characters = 0;

  constructor(sink: LogSink) {
    this.#sink = sink;
  }

  get isFull(): boolean {
    return this.#records.length >= RECORDS || this.#characters >= CHARACTERS;
  }

  /** Adds a record. Sends the earlier ones first if the batch is full. */
  async add(record: string): Promise<void> {
    // An entry may have more records than fit in a batch.
    if (this.isFull) await this.flush();
    this.#records.push(record);
    this.#characters += record.length;
  }

  /** Sends the collected records. Throws as {@link LogSink.send}. */
  async flush(): Promise<void> {
    if (this.#records.length === 0) return;
    const records = this.#records;
    this.#records = [];
    this.#characters = 0;
    await this.#sink.send(records);
  }
}
