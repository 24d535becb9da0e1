import type { OpenTick, SchedulerClock, TickClaims } from '../operations/ports/scheduler.ts';
import type { EventListener } from './events.ts';
import { execute } from './execute.ts';
import { jitterOf } from './jitter.ts';
import { decide } from './missed.ts';
import type { ScheduledJob } from './scheduled-job.ts';

/** What all lanes of a scheduler share. */
export interface LaneOptions {
  readonly claims: TickClaims;
  readonly clock: SchedulerClock;
  /** This process, as people recognize it. */
  readonly holder: string;
  /** For how long a claim holds without being renewed, in milliseconds. */
  readonly lease: number;
  /** How often the ledger is looked at, in milliseconds of the clock. */
  readonly poll: number;
  /** Lost runs after which a tick is given up: what kills every process that tries it must not do so for ever. */
  readonly lossesAtMost: number;
  readonly listener: EventListener;
}

/** Signals that end a lane. */
export interface LaneSignals {
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
export async function runLane(job: ScheduledJob, options: LaneOptions, signals: LaneSignals): Promise<void> {
  const { clock, listener, poll } = options;
  while (!signals.stop.aborted) {
    let pause: number;
    try {
      pause = await step(job, options, signals);
    } catch (error) {
      listener({ kind: 'trouble', job, error });
      pause = poll;
    }
    if (pause > 0 && !signals.stop.aborted) await clock.wait(pause, signals.stop);
  }
}

/** Does the next thing there is to do. Returns for how long there is nothing more. */
async function step(job: ScheduledJob, options: LaneOptions, signals: LaneSignals): Promise<number> {
  const { claims, clock, poll } = options;
  const { open, position } = await claims.standing(job.name, clock.now());
  if (open !== null) return await continueOpen(open, { job, options, signals });
  const jitter = jitterOf(job.name, job.jitter);
  const now = new Date(clock.now().getTime() - jitter);
  const { passOver, run } = decide({ schedule: job.schedule, position, now, missed: job.missed });
  if (passOver !== null) {
    await claims.passOver(
      { job: job.name, due: passOver },
      { summary: { message: `Not run: missed, the newest at ${passOver.toISOString()}` }, now: clock.now() },
    );
    options.listener({ kind: 'passed_over', job, due: passOver });
  }
  if (run === null) return Math.min(poll, job.schedule.next(now).getTime() - now.getTime());
  if (signals.stop.aborted) return 0;
  const claim = await claims.claim({ job: job.name, due: run, kind: 'schedule' }, claimant(options));
  // Another replica was faster: nothing of the kind is there for a moment.
  if (claim === null) return poll / 4;
  await execute(job, claim, { ...options, interrupt: signals.interrupt });
  return 0;
}

/** A tick that is under way elsewhere, was left by a killed process, or waits to be tried again. */
async function continueOpen(
  open: OpenTick,
  lane: { readonly job: ScheduledJob; readonly options: LaneOptions; readonly signals: LaneSignals },
): Promise<number> {
  const { job, options, signals } = lane;
  const { claims, clock, poll } = options;
  const now = clock.now();
  const wait = open.state === 'running' ? open.leaseLeft : untilRetry(open, job, now);
  if (wait > 0) return Math.min(wait, poll);
  const reason = reasonToGiveUp(open, options.lossesAtMost);
  if (reason !== null) {
    const given = await claims.giveUp(open, { summary: { code: 'given_up', message: reason }, now });
    if (given) options.listener({ kind: 'given_up', job, due: open.due, reason });
    return 0;
  }
  if (signals.stop.aborted) return 0;
  const claim = await claims.takeOver(job.name, { ...claimant(options), early: true });
  if (claim !== null) await execute(job, claim, { ...options, interrupt: signals.interrupt });
  return 0;
}

/** A time that is further away than any pause was set by a clock that was wrong. */
function untilRetry({ retryAt }: OpenTick, { onFailure }: ScheduledJob, now: Date): number {
  const wait = (retryAt?.getTime() ?? 0) - now.getTime();
  return wait > onFailure.retryAfter * 1000 * 2 ** onFailure.retries ? 0 : wait;
}

function reasonToGiveUp({ state, kind, losses }: OpenTick, lossesAtMost: number): string | null {
  if (state !== 'running') return null;
  if (kind === 'by_hand') return 'The process of whoever asked for this run is gone; nobody else runs it';
  if (losses < lossesAtMost) return null;
  return `The process that ran this tick was killed ${losses + 1} times; it is not tried again`;
}

function claimant({ holder, lease, clock }: LaneOptions) {
  return { holder, lease, now: clock.now() };
}
