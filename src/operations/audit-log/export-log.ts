import { TokenctlError } from '../../domain/errors.ts';
import { OpenIntents } from '../journal/open-intents.ts';
import { RecordBatch } from '../journal/record-batch.ts';
import type { AuditLog, Entry } from '../ports/audit-log.ts';
import type { ExportCursor, ExportPosition, LogFormat, LogSink } from '../ports/log-sink.ts';

/** Which entries are exported, as what, to where. */
export interface ExportLogOptions {
  readonly log: Pick<AuditLog, 'entries' | 'head'>;
  readonly format: LogFormat;
  readonly sink: LogSink;
  /** Where it remembers how far it came; without one every run begins anew. */
  readonly cursor?: ExportCursor | undefined;
  /** Where to begin where there is no position to resume from: a number, or an instant. The first entry otherwise. */
  readonly since?: number | Date | undefined;
  /** Where given, goes on with what is appended, until the signal. */
  readonly follow?: FollowOptions | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** How an export waits. */
interface FollowOptions {
  /** Waits between looks at the log, and before trying a sink again: milliseconds, less where the signal says stop. */
  readonly wait: (milliseconds: number) => Promise<void>;
  /** Is told why the sink did not take records, each time. */
  readonly onFailure: (error: TokenctlError) => void;
}

/** What was exported. */
export interface ExportReport {
  readonly entries: number;
  readonly records: number;
  /** The number of the last entry that the sink took; 0 for none. */
  readonly last: number;
}

/** How often the log is looked at, and how long a sink that fails is left alone at most, in milliseconds. */
const LOOK = 1_000;
const LONGEST_WAIT = 30_000;

/**
 * Exports the audit log, oldest entry first, beginning behind what the cursor remembers. Each entry is handed
 * over at least once: the cursor moves after the sink took all records of an entry, so that an entry whose
 * records were handed over when a run was cut short is handed over again.
 *
 * It only reads the log, so that a sink that hangs keeps nobody from appending.
 *
 * @throws TokenctlError `log_broken` where the log is not the one of the cursor or holds a line that is no
 * entry, `not_found` where retention removed what comes next, `audit_unavailable`, and whatever sink and cursor
 * throw; following, a sink that cannot be reached is tried again instead.
 */
export async function exportLog(options: ExportLogOptions): Promise<ExportReport> {
  const { follow } = options;
  const work = await Export.begin(options);
  if (follow === undefined) {
    await work.run();
    return work.report();
  }
  for (let failures = 0; options.signal?.aborted !== true; ) {
    try {
      await work.run();
      failures = 0;
      await follow.wait(LOOK);
    } catch (error) {
      if (!passes(error)) throw error;
      follow.onFailure(error);
      await follow.wait(Math.min(LOOK * 2 ** failures, LONGEST_WAIT));
      failures += 1;
    }
  }
  return work.report();
}

/** Whether trying again may help. */
function passes(error: unknown): error is TokenctlError {
  return (
    error instanceof TokenctlError &&
    (error.code === 'target_unreachable' || error.code === 'target_misbehaved')
  );
}

/** An export under way. */
class Export {
  readonly #options: ExportLogOptions;
  readonly #intents: OpenIntents;
  #position: ExportPosition;
  /** Whether it is known that the log holds the position. */
  #found: boolean;
  #entries = 0;
  #records = 0;

  private constructor(options: ExportLogOptions, position: ExportPosition | null) {
    this.#options = options;
    this.#intents = new OpenIntents(options.log);
    this.#position = position ?? { seq: startOf(options), previous: null };
    this.#found = position === null || position.seq === 0;
  }

  static async begin(options: ExportLogOptions): Promise<Export> {
    return new Export(options, (await options.cursor?.load()) ?? null);
  }

  report(): ExportReport {
    return { entries: this.#entries, records: this.#records, last: this.#position.seq };
  }

  /** Exports what there is by now. */
  async run(): Promise<void> {
    const { log, signal } = this.#options;
    const { size } = await log.head();
    if (size < this.#position.seq && !this.#found) throw this.#cutOff(size);
    if (size <= this.#position.seq) return;
    const batch = new RecordBatch(this.#options.sink);
    let last: ExportPosition | null = null;
    for await (const entry of log.entries(Math.max(this.#position.seq, 1))) {
      if (signal?.aborted === true) break;
      if (entry.seq <= this.#position.seq) {
        this.#recognize(entry);
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
    if (isBefore(entry, this.#options.since)) return;
    this.#entries += 1;
    for (const record of this.#options.format.records(entry, context)) {
      this.#records += 1;
      await batch.add(record);
    }
  }

  async #accepted(batch: RecordBatch, position: ExportPosition): Promise<void> {
    await batch.flush();
    this.#position = position;
    this.#found = true;
    await this.#options.cursor?.save(position);
  }

  #recognize(entry: Entry): void {
    const { seq, previous } = this.#position;
    if (entry.seq !== seq || this.#found) return;
    if (entry.previous !== previous) {
      throw new TokenctlError('log_broken', `Entry ${seq} of the log is not the one that was exported last`, {
        hint: 'The cursor is of another log, or the log was rewritten: find out with `tokenctl log verify`.',
        details: { seq },
      });
    }
    this.#found = true;
  }

  #requireNext({ seq }: Entry, before: number): void {
    if (seq === before + 1 || before === 0 || this.#position.previous === null) return;
    throw new TokenctlError('not_found', `Entries ${before + 1} to ${seq - 1} are not in the log any more`, {
      hint: `Retention removed them. Go on behind: remove the cursor, and give --since ${seq}.`,
      details: { from: before + 1, to: seq - 1 },
    });
  }

  #cutOff(size: number): TokenctlError {
    const { seq } = this.#position;
    return new TokenctlError('log_broken', `The log ends at entry ${size}, and ${seq} were exported`, {
      hint: 'The cursor is of another log, or this one was cut off: find out with `tokenctl log verify`.',
      details: { entries: size, exported: seq },
    });
  }
}

/** The entry before the first one. */
function startOf({ since }: ExportLogOptions): number {
  return typeof since === 'number' ? since - 1 : 0;
}

function isBefore({ at }: Entry, since: ExportLogOptions['since']): boolean {
  return since instanceof Date && Date.parse(at) < since.getTime();
}
