import type { AuditLog, Entry } from '../ports/audit-log.ts';
import type { EntryContext } from '../ports/log-sink.ts';

/**
 * The intents that are open while a log is read, so that an outcome is known with what it closes. It holds no
 * more than runs have under way together.
 */
export class OpenIntents {
  readonly #log: Pick<AuditLog, 'entries'>;
  readonly #intents = new Map<number, Entry>();
  #isBegun = false;

  constructor(log: Pick<AuditLog, 'entries'>) {
    this.#log = log;
  }

  /**
   * Takes the next entry. The first may be any one of the log: intents that were open before it are looked up.
   *
   * @returns The intents that it belongs to, where the log still holds them.
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

  /** A run's first intent is its last to be closed. */
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
