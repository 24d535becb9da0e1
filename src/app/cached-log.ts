import type { AuditLog, Entry, EntrySelection } from '../operations/ports/audit-log.ts';
import { logOver } from './open-audit-log.ts';

/**
 * A log that caches the entries of some operations, and later reads only newer entries. Entries never change,
 * and without a cache a job that runs every minute would read the whole log every minute.
 * @param selection The operations. All their entries are kept in memory, so there must be few.
 */
export function cachedAuditLog(log: AuditLog, selection: EntrySelection): AuditLog {
  const remembered = new EntryCache(log, selection);
  return logOver(log, {
    entries: (from, only) =>
      (from ?? 1) === 1 && isSame(only, selection) ? remembered.all() : log.entries(from, only),
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

  constructor(log: AuditLog, selection: EntrySelection) {
    this.#log = log;
    this.#selection = selection;
  }

  async *all(): AsyncIterable<Entry> {
    const turn = this.#turn.then(() => this.#catchUp());
    this.#turn = turn.catch(() => undefined);
    await turn;
    yield* [...this.#entries];
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

function isSame(only: EntrySelection | undefined, { operations }: EntrySelection): boolean {
  return (
    only?.operations.length === operations.length &&
    operations.every((each) => only.operations.includes(each))
  );
}
