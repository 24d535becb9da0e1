import { setTimeout as sleep } from 'node:timers/promises';

/** The current time, passed in so that tests can set it. */
export interface Clock {
  now(): Date;
}

/** The current time and timers, passed in so that tests can simulate years. */
export interface SchedulerClock extends Clock {
  /**
   * Waits this many milliseconds of the clock's time, or until the signal is aborted. It returns in both cases, and
   * the caller checks the signal.
   */
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
