import type { AuditLog, Entry, EntrySelection } from '../../operations/ports/audit-log.ts';

/**
 * A log that reads the entries of some operations once: whoever asks for the same operations again, from the
 * first entry on, gets those from memory and reads only what was appended since. Entries are never changed, and a
 * job that looks every minute would read the whole log every minute.
 *
 * @param selection The operations: of few entries, since they are all kept.
 */
export function rememberingLog(log: AuditLog, selection: EntrySelection): AuditLog {
  const remembered = new RememberedEntries(log, selection);
  const rotate = log.rotate?.bind(log);
  const prune = log.prune?.bind(log);
  return {
    append: (draft) => log.append(draft),
    entries: (from, only) =>
      (from ?? 1) === 1 && isSame(only, selection) ? remembered.all() : log.entries(from, only),
    head: () => log.head(),
    verify: (observer) => log.verify(observer),
    holdRun: (run) => log.holdRun(run),
    abandonedIntents: () => log.abandonedIntents(),
    ...(rotate !== undefined && { rotate }),
    ...(prune !== undefined && { prune }),
    close: () => log.close(),
  };
}

class RememberedEntries {
  readonly #log: AuditLog;
  readonly #selection: EntrySelection;
  readonly #entries: Entry[] = [];
  /** The number of the last entry that was looked at. */
  #upTo = 0;
  /** Ends when nobody reads: one after the other, so that none is kept twice. */
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
