import { setTimeout as sleep } from 'node:timers/promises';
import { type ClockDifference, certainlyAhead } from '../../domain/clock-difference.ts';

/** The current time, passed in so that tests can set it. */
export interface Clock {
  now(): Date;
}

/** The current time and timers, passed in so that tests can simulate years. */
export interface SchedulerClock extends Clock {
  /** Waits this many milliseconds of this clock, or until the signal is aborted, which the caller checks. */
  wait(milliseconds: number, signal: AbortSignal): Promise<void>;
}

/** The longest delay of a Node.js timer, in milliseconds. A longer wait is split. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** The time of this machine. Only the composition in `src/app` passes it on. */
export const machineClock: SchedulerClock = {
  now: () => new Date(),
  wait: (milliseconds, signal) =>
    sleep(Math.min(milliseconds, MAX_TIMER_MS), undefined, { signal }).catch(() => undefined),
};

/** A target whose clock was compared with this machine's. */
interface ComparedClock {
  readonly clock?: ClockDifference | undefined;
}

/**
 * The clock of a controller, which decides when tokens expire and dates its records. This machine's clock if
 * the target does not report the time, or if both may be the same.
 */
export function controllerClock(machine: Clock, { clock }: ComparedClock): Clock {
  if (clock === undefined || certainlyAhead(clock) === 0) return machine;
  return { now: () => new Date(machine.now().getTime() + clock.aheadMs) };
}

/**
 * An instant that has not passed on the controller: the end of a period that should include everything up to
 * now.
 * @param clock From {@link controllerClock}; may be behind by twice the uncertainty.
 */
export function endOfNow(clock: Clock, compared: ComparedClock): Date {
  return new Date(clock.now().getTime() + 2 * Math.ceil(compared.clock?.uncertaintyMs ?? 0));
}
