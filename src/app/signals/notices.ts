import { subjectText } from '@tokenctl/common/signals/subject-identifier.ts';
import type { Logger } from 'pino';
import { machineClock } from '../../operations/ports/clock.ts';
import type { Notice, Notifier } from '../../operations/ports/notifier.ts';
import type { Signal, SignalStore } from '../../operations/ports/signals.ts';

/** How many pending signals a notice lists. */
const MAX_NAMED = 20;
/** How many signals one notice covers. */
const MAX_TOLD = 10_000;
/** The pause between notices, in milliseconds: one notice is enough for a thousand pending signals. */
const PAUSE_MS = 60_000;

type NamedNotifiers = readonly { readonly name: string; readonly notifier: Notifier }[];

interface HeldNoticesOptions {
  readonly store: SignalStore;
  readonly notifiers: NamedNotifiers;
  readonly log: Logger;
  /** For tests. */
  readonly pauseMs?: number;
}

/** Sends notices about pending signals: the first at once, those of the next minute together. */
export class HeldNotices {
  readonly #options: HeldNoticesOptions;
  #next = Number.NEGATIVE_INFINITY;
  #sending: Promise<void> | null = null;

  constructor(options: HeldNoticesOptions) {
    this.#options = options;
  }

  /** Sends due notices without making the caller wait: signals are handled even if a recipient does not respond. */
  send(): void {
    if (this.#sending !== null || performance.now() < this.#next) return;
    this.#sending = this.#send()
      .catch((error: unknown) => this.#options.log.error({ err: error }, 'held signals: no one was notified'))
      .finally(() => {
        this.#sending = null;
      });
  }

  /** Waits for a notice in progress. */
  async sent(): Promise<void> {
    await this.#sending;
  }

  async #send(): Promise<void> {
    const { store, notifiers, log, pauseMs = PAUSE_MS } = this.#options;
    const held = await store.untold(MAX_TOLD);
    if (held.length === 0) return;
    this.#next = performance.now() + pauseMs;
    const notice = heldNotice(held);
    const sent = await Promise.allSettled(notifiers.map(({ notifier }) => notifier.send(notice)));
    for (const [index, result] of sent.entries())
      if (result.status === 'rejected')
        log.error({ to: notifiers[index]?.name, reason: String(result.reason) }, 'notice not delivered');
    if (notifiers.length === 0) log.warn({ held: held.length }, 'signals are held, and no one is notified');
    if (notifiers.length === 0 || sent.some(({ status }) => status === 'fulfilled'))
      await store.markTold(held.map(({ id }) => id));
  }
}

function heldNotice(held: readonly Signal[]): Notice {
  const lines = held.slice(0, MAX_NAMED).map(({ id, transmitter, kinds, subject, reason }) => {
    const who = subject === null ? '' : ` about ${subjectText(subject)}`;
    return `${id.slice(0, 12)} ${kinds.join(', ')} from ${transmitter}${who}: ${reason ?? ''}`;
  });
  const more = held.length > MAX_NAMED ? [`and ${held.length - MAX_NAMED} more`] : [];
  const text = [
    ...lines,
    ...more,
    'Use `tokenctl signals list --state held`, `tokenctl signals release ID` and `tokenctl signals dismiss ID`.',
  ];
  const [first] = held;
  return {
    id: `signals-${first?.id.slice(0, 16) ?? ''}-${held.length}`,
    type: 'signals.held',
    at: machineClock.now(),
    data: {
      severity: 'warning',
      subject: `tokenctl: ${held.length} security ${held.length === 1 ? 'event waits' : 'events wait'} for a decision`,
      text: text.join('\n'),
    },
  };
}

/** The pause between notices about one transmitter, in milliseconds. */
const REFUSAL_PAUSE_MS = 3_600_000;

/**
 * Tells people that events of a transmitter are refused: it does not send them again, so that a wrong audience or key would
 * leave everyone's access as it is, with no one aware of it.
 */
export class RefusalNotices {
  readonly #notifiers: NamedNotifiers;
  readonly #log: Logger;
  readonly #told = new Map<string, number>();
  readonly #sending = new Set<Promise<unknown>>();

  constructor(notifiers: NamedNotifiers, log: Logger) {
    this.#notifiers = notifiers;
    this.#log = log;
  }

  /** Tells about a refused event, at most once an hour for each transmitter. */
  tell(transmitter: string, reason: string): void {
    const now = performance.now();
    const last = this.#told.get(transmitter);
    if (last !== undefined && now - last < REFUSAL_PAUSE_MS) return;
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
