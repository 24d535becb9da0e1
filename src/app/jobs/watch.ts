import type { Logger } from 'pino';
import type { Configuration } from '../../config/configuration.ts';
import { TokenctlError } from '../../domain/errors.ts';
import type { SchedulerEvent } from '../../scheduler/events.ts';
import type { SchedulerMetrics } from '../../scheduler/scheduler-metrics.ts';
import { noticesOf } from './event-notices.ts';
import type { Recipients } from './recipients.ts';

/** Milliseconds after its time limit at which a run that has not ended counts as stuck. */
const STUCK_AFTER = 600_000;

/** What events go to. */
export interface WatchOptions {
  readonly log: Logger;
  readonly metrics: SchedulerMetrics;
  /** As they are at the time of an event: a reload replaces them. */
  readonly current: () => { readonly configuration: Configuration; readonly recipients: Recipients };
  readonly now: () => Date;
}

/** Takes the scheduler's events: counts them, logs them, tells whoever is to be told, and knows which runs are stuck. */
export class Watch {
  readonly #options: WatchOptions;
  /** The runs in progress, with the instant (of a clock that nobody sets) at which they count as stuck. */
  readonly #running = new Map<string, { readonly job: string; readonly until: number }>();

  constructor(options: WatchOptions) {
    this.#options = options;
  }

  /** A run that has not ended long after it should have; null for none. */
  get stuck(): string | null {
    const late = [...this.#running.values()].find(({ until }) => performance.now() > until);
    return late === undefined ? null : `A run of ${late.job} has not ended although its time is up`;
  }

  readonly take = (event: SchedulerEvent): void => {
    const { metrics, current, now } = this.#options;
    metrics.count(event);
    this.#log(event);
    if (event.kind === 'run_began') {
      const until = performance.now() + event.job.timeout * 1000 + STUCK_AFTER;
      this.#running.set(event.claim.run, { job: event.job.name, until });
    }
    if (event.kind === 'run_ended') this.#running.delete(event.claim.run);
    const { configuration, recipients } = current();
    const settings = configuration.jobs[event.job.name.split('@', 1)[0] ?? ''];
    for (const notice of noticesOf(event, { settings, at: now() })) recipients.tell(notice);
  };

  #log(event: SchedulerEvent): void {
    const { log } = this.#options;
    const job = event.job.name;
    switch (event.kind) {
      case 'run_began': {
        const { run, due, attempt } = event.claim;
        log.info({ job, run, due, attempt }, 'run began');
        break;
      }
      case 'run_ended': {
        const { state, seconds, summary, retryAt, claim } = event;
        const facts = { job, run: claim.run, state, seconds, retryAt, summary, ...bugOf(event.error) };
        log[state === 'completed' ? 'info' : 'warn'](facts, 'run ended');
        break;
      }
      case 'passed_over':
        log.warn({ job, due: event.due }, 'missed ticks are not run');
        break;
      case 'given_up':
        log.error({ job, due: event.due }, event.reason);
        break;
      case 'trouble':
        log.error({ job, ...bugOf(event.error), reason: messageOf(event.error) }, 'it is tried again');
    }
  }
}

/** What is no error of ours is logged as it is; of ours the summary says all. */
function bugOf(error: unknown): { readonly err?: unknown } {
  return error === null || error instanceof TokenctlError ? {} : { err: error };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
