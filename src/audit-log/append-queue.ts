import { TokenctlError } from '../domain/errors.ts';
import type { Entry, EntryDraft } from '../operations/ports/audit-log.ts';
import type { Linked } from './link-group.ts';

/** How a queue writes, and speaks of failures. */
export interface AppendQueueOptions {
  /** What the log is called in messages: its path, or the database. */
  readonly name: string;
  /** Appends several entries durably, all or none of them. */
  readonly write: (drafts: readonly EntryDraft[]) => Promise<readonly Linked[]>;
  /** What is thrown where `write` throws. */
  readonly failure: (cause: unknown) => TokenctlError;
}

interface Waiting {
  readonly draft: EntryDraft;
  readonly resolve: (entry: Entry) => void;
  readonly reject: (error: unknown) => void;
}

/** Groups the appends that wait at the same time, so that they share one sync of the disk. */
export class AppendQueue {
  readonly #options: AppendQueueOptions;
  #waiting: Waiting[] = [];
  #flushing: Promise<void> | null = null;

  constructor(options: AppendQueueOptions) {
    this.#options = options;
  }

  /**
   * Appends an entry with whatever else waits.
   *
   * @throws TokenctlError `audit_unavailable` for data that is not plain JSON; the failure of the write.
   */
  append(draft: EntryDraft): Promise<Entry> {
    const { promise, resolve, reject } = Promise.withResolvers<Entry>();
    this.#waiting.push({ draft, resolve, reject });
    this.#flushing ??= this.#flush();
    return promise;
  }

  /** Waits until nothing waits any more. */
  async idle(): Promise<void> {
    await this.#flushing;
  }

  /** Writes what is waiting, and what arrives meanwhile, group by group. */
  async #flush(): Promise<void> {
    while (this.#waiting.length > 0) {
      const group = this.#waiting;
      this.#waiting = [];
      try {
        const links = await this.#options.write(group.map(({ draft }) => draft));
        links.forEach((link, index) => {
          if ('entry' in link) group[index]?.resolve(link.entry);
          else group[index]?.reject(notPlain(this.#options.name, link.unfit));
        });
      } catch (cause) {
        const error = this.#options.failure(cause);
        for (const { reject } of group) reject(error);
      }
    }
    this.#flushing = null;
  }
}

function notPlain(name: string, cause: unknown): TokenctlError {
  return new TokenctlError(
    'audit_unavailable',
    `The audit log ${name} cannot hold this entry: it is not plain JSON`,
    { cause },
  );
}
