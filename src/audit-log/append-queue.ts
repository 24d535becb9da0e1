import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Entry, EntryDraft } from '../operations/ports/audit-log.ts';
import type { LinkResult } from './chain.ts';

export interface AppendQueueOptions {
  /** The log's name in messages: its path, or the database. */
  readonly name: string;
  /** Appends several entries durably, all or none. */
  readonly write: (drafts: readonly EntryDraft[]) => Promise<readonly LinkResult[]>;
  /** Converts an error of `write` into the callers' error. */
  readonly failure: (cause: unknown) => TokenctlError;
}

interface PendingAppend {
  readonly draft: EntryDraft;
  readonly resolve: (entry: Entry) => void;
  readonly reject: (error: unknown) => void;
}

/** Groups pending appends, so that they share one disk sync. */
export class AppendQueue {
  readonly #options: AppendQueueOptions;
  #pending: PendingAppend[] = [];
  #flushing: Promise<void> | null = null;

  constructor(options: AppendQueueOptions) {
    this.#options = options;
  }

  /**
   * Appends an entry together with all other pending ones.
   * @throws TokenctlError `audit_unavailable` for data that is not plain JSON, or if the write fails;
   * `intent_closed`.
   */
  append(draft: EntryDraft): Promise<Entry> {
    const { promise, resolve, reject } = Promise.withResolvers<Entry>();
    this.#pending.push({ draft, resolve, reject });
    this.#flushing ??= this.#flush();
    return promise;
  }

  /** Waits until no append is pending. */
  async idle(): Promise<void> {
    await this.#flushing;
  }

  async #flush(): Promise<void> {
    while (this.#pending.length > 0) {
      const group = this.#pending;
      this.#pending = [];
      try {
        const links = await this.#options.write(group.map(({ draft }) => draft));
        links.forEach((link, index) => {
          if ('entry' in link) group[index]?.resolve(link.entry);
          else group[index]?.reject(this.#draftRefused(link.error));
        });
      } catch (cause) {
        const error = this.#options.failure(cause);
        for (const { reject } of group) reject(error);
      }
    }
    this.#flushing = null;
  }

  #draftRefused(cause: unknown): TokenctlError {
    if (cause instanceof TokenctlError) return cause;
    return new TokenctlError(
      'audit_unavailable',
      `Could not write the audit log ${this.#options.name}: the entry is not plain JSON`,
      { cause },
    );
  }
}
