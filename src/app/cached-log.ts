import type { AuditLog, Entry, EntrySelection } from '../operations/ports/audit-log.ts';
import { logOver } from './open-audit-log.ts';

/**
 * A log that caches the entries of some operations, and later reads only newer entries. Entries never change,
 * and without a cache a job that runs every minute would read the whole log every minute.
 * @param selection The operations. All their entries are kept in memory, so there must be few. A query for
 * some of them returns these.
 */
export function cachedAuditLog(log: AuditLog, selection: EntrySelection): AuditLog {
  const remembered = new EntryCache(log, selection);
  return logOver(log, {
    entries: (from, only) =>
      (from ?? 1) === 1 && isPart(only, selection) ? remembered.of(only) : log.entries(from, only),
  });
}

class EntryCache {
  readonly #log: AuditLog;
  readonly #selection: EntrySelection;
  readonly #entries: Entry[] = [];
  /** The number of the last entry that was read. */
  #upTo = 0;
  /** The read in progress. Reads run one after the other, so that no entry is cached twice. */
  #turn: Promise<void> = Promise.resolve();
  /** The next read, shared by all callers until it starts. */
  #next: Promise<void> | null = null;

  constructor(log: AuditLog, selection: EntrySelection) {
    this.#log = log;
    this.#selection = selection;
  }

  async *of({ operations }: EntrySelection): AsyncIterable<Entry> {
    this.#next ??= this.#turn.then(() => {
      this.#next = null;
      return this.#catchUp();
    });
    const turn = this.#next;
    this.#turn = turn.catch(() => undefined);
    await turn;
    yield* this.#entries.filter(({ operation }) => operations.includes(operation));
  }

  async #catchUp(): Promise<void> {
    const { size } = await this.#log.head();
    if (size === this.#upTo) return;
    const fresh: Entry[] = [];
    for await (const entry of this.#log.entries(this.#upTo + 1, this.#selection)) {
      if (entry.seq <= size) fresh.push(entry);
    }
    this.#entries.push(...fresh);
    this.#upTo = size;
  }
}

function isPart(only: EntrySelection | undefined, { operations }: EntrySelection): only is EntrySelection {
  return only?.operations.every((each) => operations.includes(each)) === true;
}
