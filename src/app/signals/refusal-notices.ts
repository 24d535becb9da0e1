import type { Logger } from 'pino';
import { machineClock } from '../../operations/ports/clock.ts';
import type { Notifier } from '../../operations/ports/notifier.ts';

/** The pause between notices about one transmitter, in milliseconds. */
const PAUSE_MS = 3_600_000;

/**
 * Tells people that events of a transmitter are refused: it does not send them again, so that a wrong audience or key would
 * leave everyone's access as it is, with no one aware of it.
 */
export class RefusalNotices {
  readonly #notifiers: readonly { readonly name: string; readonly notifier: Notifier }[];
  readonly #log: Logger;
  readonly #told = new Map<string, number>();
  readonly #sending = new Set<Promise<unknown>>();

  constructor(notifiers: readonly { readonly name: string; readonly notifier: Notifier }[], log: Logger) {
    this.#notifiers = notifiers;
    this.#log = log;
  }

  /** Tells about a refused event, at most once an hour for each transmitter. */
  tell(transmitter: string, reason: string): void {
    const now = performance.now();
    const last = this.#told.get(transmitter);
    if (last !== undefined && now - last < PAUSE_MS) return;
    this.#told.set(transmitter, now);
    const at = machineClock.now();
    const notice = {
      id: `signals-refused-${transmitter}-${at.getTime()}`,
      type: 'signals.refused',
      at,
      data: {
        severity: 'warning',
        subject: `tokenctl: security events from ${transmitter} are rejected`,
        text: `${reason}. A rejected event is not sent again. Further events in this hour are in the receiver's log.`,
      },
    } as const;
    for (const { name, notifier } of this.#notifiers) {
      const sending = notifier
        .send(notice)
        .catch((error: unknown) =>
          this.#log.error({ to: name, reason: String(error) }, 'notice not delivered'),
        )
        .finally(() => this.#sending.delete(sending));
      this.#sending.add(sending);
    }
  }

  /** Waits for notices under way. */
  async sent(): Promise<void> {
    await Promise.allSettled(this.#sending);
  }
}
