import { setTimeout as sleep } from 'node:timers/promises';
import type { SchedulerClock } from '../../operations/ports/scheduler.ts';

/** A timer of Node.js waits for no more than this, in milliseconds; whoever waits looks again then. */
const LONGEST = 2 ** 31 - 1;

/** The time of this machine. */
export const machineClock: SchedulerClock = {
  now: () => new Date(),
  wait: (milliseconds, signal) =>
    sleep(Math.min(milliseconds, LONGEST), undefined, { signal }).catch(() => undefined),
};
