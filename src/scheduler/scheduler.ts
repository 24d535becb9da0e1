import { type LaneOptions, runLane } from './lane.ts';
import type { ScheduledJob } from './scheduled-job.ts';

const DAY = 86_400_000;

/** A running scheduler's options. */
export interface SchedulerOptions extends LaneOptions {
  /** For how many days the history is kept. */
  readonly keepDays: number;
}

/** A job that is being run on its schedule. */
interface Lane {
  readonly job: ScheduledJob;
  readonly stop: AbortController;
  readonly ended: Promise<void>;
}

/** Runs jobs on their schedules, each in a lane of its own, until it is drained. */
export class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #interrupt = new AbortController();
  readonly #lanes = new Map<string, Lane>();
  /** Lanes of jobs that are gone or were changed: the run in progress goes on. */
  readonly #ending = new Set<Promise<void>>();
  #housekeeping: Promise<void> | null = null;

  constructor(options: SchedulerOptions) {
    this.#options = options;
  }

  /** The jobs as they are run now. */
  get jobs(): readonly ScheduledJob[] {
    return [...this.#lanes.values()].map(({ job }) => job);
  }

  /**
   * Runs these jobs from now on, and no others. One that is as before is not touched; a run in progress goes on
   * as it began.
   *
   * @throws TokenctlError `database_unreachable`: then all is as before.
   */
  async replace(jobs: readonly ScheduledJob[]): Promise<void> {
    const { claims, clock } = this.#options;
    await claims.register(
      jobs.map(({ name, scheduleText }) => ({ name, schedule: scheduleText })),
      clock.now(),
    );
    const wanted = new Map(jobs.map((job) => [job.name, job]));
    for (const [name, lane] of this.#lanes) {
      if (wanted.get(name)?.fingerprint === lane.job.fingerprint) wanted.delete(name);
      else this.#end(lane);
    }
    for (const job of wanted.values()) this.#begin(job);
    this.#housekeeping ??= this.#keepHouse();
  }

  /**
   * Begins no further tick, tells runs in progress to end, and returns once they have and that is recorded.
   * Their ticks are open again: another replica, or the next start, goes on with them at once.
   */
  async drain(): Promise<void> {
    this.#interrupt.abort();
    for (const lane of this.#lanes.values()) this.#end(lane);
    await Promise.all(this.#ending);
    await this.#housekeeping;
  }

  #begin(job: ScheduledJob): void {
    const stop = new AbortController();
    const ended = runLane(job, this.#options, { stop: stop.signal, interrupt: this.#interrupt.signal });
    this.#lanes.set(job.name, { job, stop, ended });
  }

  #end(lane: Lane): void {
    lane.stop.abort();
    this.#lanes.delete(lane.job.name);
    const ended = lane.ended.finally(() => this.#ending.delete(ended));
    this.#ending.add(ended);
  }

  /** Once a day what is older than the history goes. Every replica does it; the second finds nothing. */
  async #keepHouse(): Promise<void> {
    const { claims, clock, keepDays } = this.#options;
    while (!this.#interrupt.signal.aborted) {
      const before = new Date(clock.now().getTime() - keepDays * DAY);
      // Where the ledger does not answer, the next day will do.
      await claims.forget(before).catch(() => undefined);
      await clock.wait(DAY, this.#interrupt.signal);
    }
  }
}
