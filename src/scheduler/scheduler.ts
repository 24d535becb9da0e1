import { createHash } from 'node:crypto';
import type { JobStore, OpenTick, SchedulerClock } from '../operations/ports/scheduler.ts';
import { execute } from './execute.ts';
import type { Schedule } from './schedule.ts';
import type { EventListener, ScheduledJob } from './scheduled-job.ts';

const DAY_MS = 86_400_000;

/** A running scheduler's options. */
export interface SchedulerOptions extends JobLoopOptions {
  /** For how many days the history is kept. */
  readonly keepDays: number;
}

/** A job that is being run on its schedule. */
interface JobLoop {
  readonly job: ScheduledJob;
  readonly stop: AbortController;
  readonly ended: Promise<void>;
}

/** Runs jobs on their schedules, each in a lane of its own, until it is drained. */
export class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #interrupt = new AbortController();
  readonly #loops = new Map<string, JobLoop>();
  /** Lanes of jobs that are gone or were changed: the run in progress goes on. */
  readonly #ending = new Set<Promise<void>>();
  #housekeeping: Promise<void> | null = null;

  constructor(options: SchedulerOptions) {
    this.#options = options;
  }

  /** The jobs as they are run now. */
  get jobs(): readonly ScheduledJob[] {
    return [...this.#loops.values()].map(({ job }) => job);
  }

  /**
   * Runs these jobs from now on, and no others. One that is as before is not touched; a run in progress goes on
   * as it began.
   *
   * @throws TokenctlError `database_unreachable`: then all is as before.
   */
  async replace(jobs: readonly ScheduledJob[]): Promise<void> {
    const { store, clock } = this.#options;
    await store.register(
      jobs.map(({ name, scheduleText }) => ({ name, schedule: scheduleText })),
      clock.now(),
    );
    const wanted = new Map(jobs.map((job) => [job.name, job]));
    for (const [name, loop] of this.#loops) {
      if (wanted.get(name)?.fingerprint === loop.job.fingerprint) wanted.delete(name);
      else this.#end(loop);
    }
    for (const job of wanted.values()) this.#begin(job);
    this.#housekeeping ??= this.#deleteOldRuns();
  }

  /**
   * Begins no further tick, tells runs in progress to end, and returns once they have and that is recorded.
   * Their ticks are open again: another replica, or the next start, goes on with them at once.
   */
  async drain(): Promise<void> {
    this.#interrupt.abort();
    for (const loop of this.#loops.values()) this.#end(loop);
    await Promise.all(this.#ending);
    await this.#housekeeping;
  }

  #begin(job: ScheduledJob): void {
    const stop = new AbortController();
    const ended = runJobLoop(job, this.#options, { stop: stop.signal, interrupt: this.#interrupt.signal });
    this.#loops.set(job.name, { job, stop, ended });
  }

  #end(loop: JobLoop): void {
    loop.stop.abort();
    this.#loops.delete(loop.job.name);
    const ended = loop.ended.finally(() => this.#ending.delete(ended));
    this.#ending.add(ended);
  }

  /** Once a day what is older than the history goes. Every replica does it; the second finds nothing. */
  async #deleteOldRuns(): Promise<void> {
    const { store, clock, keepDays } = this.#options;
    while (!this.#interrupt.signal.aborted) {
      const before = new Date(clock.now().getTime() - keepDays * DAY_MS);
      // Where the ledger does not answer, the next day will do.
      await store.forget(before).catch(() => undefined);
      await clock.wait(DAY_MS, this.#interrupt.signal);
    }
  }
}

/** What all lanes of a scheduler share. */
interface JobLoopOptions {
  readonly store: JobStore;
  readonly clock: SchedulerClock;
  /** This process, as people recognize it. */
  readonly holder: string;
  /** For how long a claim holds without being renewed, in milliseconds. */
  readonly lease: number;
  /** How often the ledger is looked at, in milliseconds of the clock. */
  readonly poll: number;
  /** Lost runs after which a tick is given up: what kills every process that tries it must not do so for ever. */
  readonly maxLosses: number;
  readonly listener: EventListener;
}

/** Signals that end a lane. */
interface JobLoopSignals {
  /** Aborted where no further tick is to be begun; the run in progress goes on. */
  readonly stop: AbortSignal;
  /** Aborted where the run in progress is to end as well. */
  readonly interrupt: AbortSignal;
}

/**
 * Runs one job's ticks, one after the other, until it is stopped: looks where the job stands, takes over
 * what others left, claims what is due, waits. Every decision is made from the ledger anew, so that a clock
 * that jumps, and a process that slept, only mean that some ticks are late.
 */
async function runJobLoop(
  job: ScheduledJob,
  options: JobLoopOptions,
  signals: JobLoopSignals,
): Promise<void> {
  const { clock, listener, poll } = options;
  while (!signals.stop.aborted) {
    let pause: number;
    try {
      pause = await step(job, options, signals);
    } catch (error) {
      listener({ kind: 'error', job, error });
      pause = poll;
    }
    if (pause > 0 && !signals.stop.aborted) await clock.wait(pause, signals.stop);
  }
}

/** Does the next thing there is to do. Returns for how long there is nothing more. */
async function step(job: ScheduledJob, options: JobLoopOptions, signals: JobLoopSignals): Promise<number> {
  const { store, clock, poll } = options;
  const { open, position } = await store.tickState(job.name, clock.now());
  if (open !== null) return await continueOpen(open, { job, options, signals });
  const jitter = jitterOf(job.name, job.jitter);
  const now = new Date(clock.now().getTime() - jitter);
  const { skip, run } = decide({ schedule: job.schedule, position, now, missed: job.missed });
  if (skip !== null) {
    await store.skip(
      { job: job.name, due: skip },
      { summary: { message: `Not run: missed, the newest at ${skip.toISOString()}` }, now: clock.now() },
    );
    options.listener({ kind: 'skipped', job, due: skip });
  }
  if (run === null) return Math.min(poll, job.schedule.next(now).getTime() - now.getTime());
  if (signals.stop.aborted) return 0;
  const claim = await store.claim({ job: job.name, due: run, kind: 'schedule' }, claimant(options));
  // Another replica was faster: nothing of the kind is there for a moment.
  if (claim === null) return poll / 4;
  await execute(job, claim, { ...options, interrupt: signals.interrupt });
  return 0;
}

/** A tick that is under way elsewhere, was left by a killed process, or waits to be tried again. */
async function continueOpen(
  open: OpenTick,
  loop: { readonly job: ScheduledJob; readonly options: JobLoopOptions; readonly signals: JobLoopSignals },
): Promise<number> {
  const { job, options, signals } = loop;
  const { store, clock, poll } = options;
  const now = clock.now();
  const wait = open.state === 'running' ? open.leaseLeft : untilRetry(open, job, now);
  if (wait > 0) return Math.min(wait, poll);
  const reason = reasonToAbandon(open, options.maxLosses);
  if (reason !== null) {
    const given = await store.abandon(open, { summary: { code: 'abandoned', message: reason }, now });
    if (given) options.listener({ kind: 'abandoned', job, due: open.due, reason });
    return 0;
  }
  if (signals.stop.aborted) return 0;
  const claim = await store.takeOver(job.name, { ...claimant(options), early: true });
  if (claim !== null) await execute(job, claim, { ...options, interrupt: signals.interrupt });
  return 0;
}

/** A time that is further away than any pause was set by a clock that was wrong. */
function untilRetry({ retryAt }: OpenTick, { onFailure }: ScheduledJob, now: Date): number {
  const wait = (retryAt?.getTime() ?? 0) - now.getTime();
  return wait > onFailure.retryAfter * 1000 * 2 ** onFailure.retries ? 0 : wait;
}

function reasonToAbandon({ state, kind, losses }: OpenTick, maxLosses: number): string | null {
  if (state !== 'running') return null;
  if (kind === 'manual') return 'The process of whoever asked for this run is gone; nobody else runs it';
  if (losses < maxLosses) return null;
  return `The process that ran this tick was killed ${losses + 1} times; it is not tried again`;
}

function claimant({ holder, lease, clock }: JobLoopOptions) {
  return { holder, lease, now: clock.now() };
}

/** What becomes of ticks that nobody ran in time, since no replica was there or the job still ran. */
export interface MisfirePolicy {
  /** All are run, one after the other; or the newest; or none. */
  readonly run: 'all' | 'last' | 'none';
  /** Seconds after which a tick is too old to be run. */
  readonly within: number;
}

/** What is to be done about the ticks up to now. */
interface Decision {
  /** The newest of those that are not run; null for none. */
  readonly skip: Date | null;
  /** The one to run first; null for none. */
  readonly run: Date | null;
}

/** Where a job stands. */
interface TicksSince {
  readonly schedule: Schedule;
  /** Ticks after this count. */
  readonly position: Date;
  readonly now: Date;
  readonly missed: MisfirePolicy;
}

/** Milliseconds by which a tick may be late without being missed: several looks at the ledger. */
const ON_TIME_MS = 60_000;

/** Decides which of the ticks since a position is run next, and which are not run at all. Pure. */
export function decide({ schedule, position, now, missed }: TicksSince): Decision {
  const newest = schedule.newest({ after: position, upTo: now });
  if (newest === null) return { skip: null, run: null };
  const patience = missed.run === 'none' ? ON_TIME_MS : Math.max(missed.within * 1000, ON_TIME_MS);
  const oldest = new Date(Math.max(position.getTime(), now.getTime() - patience - 1));
  if (newest <= oldest) return { skip: newest, run: null };
  const run = missed.run === 'all' ? schedule.next(oldest) : newest;
  return { skip: schedule.newest({ after: position, upTo: new Date(run.getTime() - 1) }), run };
}

/**
 * By how many milliseconds a job's ticks are put off: below `jitter` seconds, and the same in every replica,
 * since its name decides. So jobs that are due at the same time do not start together.
 */
function jitterOf(name: string, jitter: number): number {
  if (jitter <= 0) return 0;
  const number = createHash('sha256').update(name).digest().readUInt32BE(0);
  return Math.floor((number / 2 ** 32) * jitter * 1000);
}
