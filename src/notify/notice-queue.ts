import { setTimeout as sleep } from 'node:timers/promises';
import type { Notice, Notifier } from '../operations/ports/notifier.ts';

/** How notices are handed on. */
export interface NoticeQueueOptions {
  readonly notifier: Notifier;
  /** Told of each notice what came of it; the error of the last attempt where it was given up. */
  readonly onResult: (result: 'delivered' | 'abandoned', error: unknown) => void;
  /** Waits between attempts, in milliseconds; a notifier may try a few times by itself in each. */
  readonly pauses?: readonly number[];
}

/** Two hours in all. */
const PAUSES: readonly number[] = [30_000, 120_000, 600_000, 1_800_000, 4_800_000];

/** Notices that wait at the most: further ones are dropped. */
const WAITING = 1000;

/** Hands notices on in the background: whoever tells one never waits, and never learns of a failure. */
export class NoticeQueue {
  readonly #options: NoticeQueueOptions;
  readonly #waiting: Notice[] = [];
  readonly #closing = new AbortController();
  #busy: Promise<void> | null = null;

  constructor(options: NoticeQueueOptions) {
    this.#options = options;
  }

  /** Takes a notice. Returns at once. */
  tell(notice: Notice): void {
    if (this.#waiting.length >= WAITING) {
      this.#options.onResult('abandoned', new Error('too many notices wait'));
      return;
    }
    this.#waiting.push(notice);
    this.#busy ??= this.#handOn().finally(() => {
      this.#busy = null;
    });
  }

  /** Tries what still waits once, without pauses, and lets go of connections. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#busy;
    await this.#options.notifier.close();
  }

  async #handOn(): Promise<void> {
    for (let notice = this.#waiting[0]; notice !== undefined; notice = this.#waiting[0]) {
      const error = await this.#send(notice);
      this.#waiting.shift();
      this.#options.onResult(error === null ? 'delivered' : 'abandoned', error);
    }
  }

  /** @returns what the last attempt failed with; null where the notice was taken */
  async #send(notice: Notice): Promise<unknown> {
    let failure: unknown = null;
    for (const pause of [0, ...(this.#options.pauses ?? PAUSES)]) {
      if (pause > 0 && this.#closing.signal.aborted) break;
      if (pause > 0) await sleep(pause, undefined, { signal: this.#closing.signal }).catch(() => undefined);
      try {
        await this.#options.notifier.send(notice);
        return null;
      } catch (error) {
        failure = error;
      }
    }
    return failure;
  }
}
