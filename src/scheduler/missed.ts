import type { Schedule } from './schedule.ts';

/** What becomes of ticks that nobody ran in time, since no replica was there or the job still ran. */
export interface MissedTicks {
  /** All are run, one after the other; or the newest; or none. */
  readonly run: 'all' | 'last' | 'none';
  /** Seconds after which a tick is too old to be run. */
  readonly within: number;
}

/** What is to be done about the ticks up to now. */
export interface Decision {
  /** The newest of those that are not run; null for none. */
  readonly passOver: Date | null;
  /** The one to run first; null for none. */
  readonly run: Date | null;
}

/** Where a job stands. */
export interface TicksSince {
  readonly schedule: Schedule;
  /** Ticks after this count. */
  readonly position: Date;
  readonly now: Date;
  readonly missed: MissedTicks;
}

/** Milliseconds by which a tick may be late without being missed: several looks at the ledger. */
const IN_TIME = 60_000;

/** Decides which of the ticks since a position is run next, and which are not run at all. Pure. */
export function decide({ schedule, position, now, missed }: TicksSince): Decision {
  const newest = schedule.newest({ after: position, upTo: now });
  if (newest === null) return { passOver: null, run: null };
  const patience = missed.run === 'none' ? IN_TIME : Math.max(missed.within * 1000, IN_TIME);
  const oldest = new Date(Math.max(position.getTime(), now.getTime() - patience - 1));
  if (newest <= oldest) return { passOver: newest, run: null };
  const run = missed.run === 'all' ? schedule.next(oldest) : newest;
  return { passOver: schedule.newest({ after: position, upTo: new Date(run.getTime() - 1) }), run };
}
