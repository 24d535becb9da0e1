import { createHash } from 'node:crypto';
import type { SchedulerClock } from '../operations/ports/clock.ts';
import type { JobStore, OpenTick } from '../operations/ports/scheduler.ts';
import { execute } from './execute.ts';
import { type RunLimits, RunSlots } from './run-slots.ts';
import type { Schedule } from './schedule.ts';
import type { EventListener, MisfirePolicy, ScheduledJob } from './scheduled-job.ts';

const DAY_MS = 86_400_000;

export interface SchedulerOptions extends Omit<JobLoopOptions, 'slots'> {
  readonly keepDays: number;
  readonly limits: RunLimits;
}

interface JobLoop {
  readonly job: ScheduledJob;
  readonly stop: AbortController;
  readonly ended: Promise<void>;
}

/** Runs jobs on their schedules, each in its own loop, until it is drained. */
export class Scheduler {
  readonly #options: SchedulerOptions & JobLoopOptions;
  readonly #interrupt = new AbortController();
  readonly #loops = new Map<string, JobLoop>();
  /** Loops of removed or changed jobs whose run is still in progress. */
  readonly #ending = new Set<Promise<void>>();
  #housekeeping: Promise<void> | null = null;

  constructor(options: SchedulerOptions) {
    this.#options = { ...options, slots: new RunSlots(options.limits) };
  }

  get jobs(): readonly ScheduledJob[] {
    return [...this.#loops.values()].map(({ job }) => job);
  }

  /** Replaces the jobs. Unchanged jobs and runs in progress continue. Nothing is replaced if it throws. */
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

  /** Starts no further tick, stops the runs in progress, and records their outcome. Others continue their ticks. */
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

  /** Deletes old runs once a day, in every replica. */
  async #deleteOldRuns(): Promise<void> {
    const { store, clock, keepDays } = this.#options;
    while (!this.#interrupt.signal.aborted) {
      const before = new Date(clock.now().getTime() - keepDays * DAY_MS);
      // If the ledger is unavailable, it retries the next day.
      await store.forget(before).catch(() => undefined);
      await clock.wait(DAY_MS, this.#interrupt.signal);
    }
  }
}

interface JobLoopOptions {
  readonly store: JobStore;
  readonly clock: SchedulerClock;
  /** This process: host and process id. */
  readonly holder: string;
  /** How long a claim is valid without renewal, in milliseconds. */
  readonly lease: number;
  /** How often to poll the ledger, in milliseconds. */
  readonly poll: number;
  /** How many runs of a tick may be lost before it is abandoned: it may crash every process that runs it. */
  readonly maxLosses: number;
  readonly listener: EventListener;
  readonly slots: RunSlots;
}

interface JobLoopSignals {
  /** Aborted: start no further tick. The run in progress continues. */
  readonly stop: AbortSignal;
  /** Aborted: also stop the run in progress. */
  readonly interrupt: AbortSignal;
}

/**
 * Runs one job's ticks, one after the other, until stopped: reads the ledger, takes over abandoned ticks, claims due
 * ticks, waits. Every decision starts from the ledger, so a clock change or a suspended process only delays ticks.
 */
async function runJobLoop(job: ScheduledJob, options: JobLoopOptions, signals: JobLoopSignals) {
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

/** Does the next step. Returns how long to wait before the next one, in milliseconds. */
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
      { summary: { message: `Skipped missed runs until ${skip.toISOString()}` }, now: clock.now() },
    );
    options.listener({ kind: 'skipped', job, due: skip });
  }
  if (run === null) return Math.min(poll, job.schedule.next(now).getTime() - now.getTime());
  // A claim that waits for a slot would keep replicas with a free slot from running the tick.
  using place = await options.slots.take({ context: job.context, due: run }, signals.stop);
  if (place === null) return 0;
  const claim = await store.claim({ job: job.name, due: run, kind: 'schedule' }, claimant(options));
  // Another replica was faster.
  if (claim === null) return poll / 4;
  await execute(job, claim, { ...options, interrupt: signals.interrupt });
  return 0;
}

/** Continues a tick that runs elsewhere, was left by a killed process, or waits for its retry. */
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
  using place = await options.slots.take({ context: job.context, due: open.due }, signals.stop);
  if (place === null) return 0;
  const claim = await store.takeOver(job.name, { ...claimant(options), early: true });
  if (claim !== null) await execute(job, claim, { ...options, interrupt: signals.interrupt });
  return 0;
}

/** A retry later than the longest pause was set by a wrong clock. */
function untilRetry({ retryAt }: OpenTick, { onFailure }: ScheduledJob, now: Date): number {
  const wait = (retryAt?.getTime() ?? 0) - now.getTime();
  return wait > onFailure.retryAfter * 1000 * 2 ** onFailure.retries ? 0 : wait;
}

function reasonToAbandon({ state, kind, losses }: OpenTick, maxLosses: number): string | null {
  if (state !== 'running') return null;
  if (kind === 'manual') return 'The process that started this manual run was killed; it is not retried';
  if (losses < maxLosses) return null;
  return `The process that ran this was killed ${losses + 1} times; it is not retried`;
}

function claimant({ holder, lease, clock }: JobLoopOptions) {
  return { holder, lease, now: clock.now() };
}

interface Decision {
  /** The newest tick to skip, or null. */
  readonly skip: Date | null;
  /** The tick to run next, or null. */
  readonly run: Date | null;
}

interface TicksSince {
  readonly schedule: Schedule;
  /** Ticks after this count. */
  readonly position: Date;
  readonly now: Date;
  readonly missed: MisfirePolicy;
}

/** How late a tick may start without counting as missed: several polls of the ledger. */
const ON_TIME_MS = 60_000;

/** Decides which tick since a position to run next, and which to skip. Pure. */
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
 * The delay of a job's ticks in milliseconds, below `jitter` seconds. It is derived from the job's name, so
 * that all replicas agree and jobs with the same schedule do not start together.
 */
function jitterOf(name: string, jitter: number): number {
  if (jitter <= 0) return 0;
  const number = createHash('sha256').update(name).digest().readUInt32BE(0);
  return Math.floor((number / 2 ** 32) * jitter * 1000);
}
