import type { Environment } from '../../config/paths.ts';
import type { RecipientSettings, SchedulerSettings } from '../../config/scheduler.ts';
import { NoticeQueue } from '../../notify/notice-queue.ts';
import type { Notifier } from '../../operations/ports/notifier.ts';
import type { GradedNotice } from './event-notices.ts';
import { openNotifier } from './notifiers.ts';

const GRADES = { info: 0, warning: 1, error: 2 } as const;

/** What became of a notice. */
export interface NoticeResult {
  readonly to: string;
  readonly result: 'delivered' | 'given_up';
  readonly error: unknown;
}

/** Everybody of the configuration who is told what happens. */
export class Recipients {
  /** The ways to tell them, by name: for jobs that tell by themselves. */
  readonly notifiers: ReadonlyMap<string, Notifier>;
  readonly #queues: readonly { readonly at: RecipientSettings['at']; readonly queue: NoticeQueue }[];

  /** @throws TokenctlError `configuration` where a secret cannot be read or is no address. */
  constructor(
    { notify }: SchedulerSettings,
    options: { readonly environment: Environment; readonly onResult: (result: NoticeResult) => void },
  ) {
    this.notifiers = new Map(
      Object.entries(notify).map(([name, settings]) => [name, openNotifier(settings, options.environment)]),
    );
    this.#queues = [...this.notifiers].map(([to, notifier]) => ({
      at: notify[to]?.at ?? 'error',
      queue: new NoticeQueue({
        notifier,
        onResult: (result, error) => options.onResult({ to, result, error }),
      }),
    }));
  }

  /** Hands a notice to those for whom it is grave enough. Returns at once. */
  tell({ notice, severity }: GradedNotice): void {
    for (const { at, queue } of this.#queues) if (GRADES[severity] >= GRADES[at]) queue.tell(notice);
  }

  /** Tries what still waits once more, and lets go of connections. */
  async close(): Promise<void> {
    await Promise.all(this.#queues.map(({ queue }) => queue.close()));
  }
}
