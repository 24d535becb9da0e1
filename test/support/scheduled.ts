import type { VirtualClock } from '@tokenctl/testing/virtual-clock.ts';
import type { JobReport } from '../../src/operations/jobs/job.ts';
import type { JobStore } from '../../src/operations/ports/scheduler.ts';
import { Schedule } from '../../src/scheduler/schedule.ts';
import type { ScheduledJob, SchedulerEvent } from '../../src/scheduler/scheduled-job.ts';
import { Scheduler, type SchedulerOptions } from '../../src/scheduler/scheduler.ts';

/** A report of a run that did nothing. */
export const done: JobReport = { message: 'done', summary: {} };

/** A job that does nothing at four in the morning, save for what is given. */
export function scheduledJob(
  work: ScheduledJob['work'],
  other: Partial<ScheduledJob> & { readonly expression?: string; readonly timeZone?: string } = {},
): ScheduledJob {
  const { expression = '0 4 * * *', timeZone = 'UTC', ...rest } = other;
  return {
    name: 'sweep@test',
    context: 'test',
    schedule: new Schedule({ expression, timeZone }),
    scheduleText: `${expression} ${timeZone}`,
    work,
    timeout: 60,
    jitter: 0,
    missed: { run: 'last', within: 7 * 86_400 },
    onFailure: { retries: 0, retryAfter: 60 },
    dryRun: false,
    fingerprint: expression,
    ...rest,
  };
}

/** A scheduler on a clock of the test's, and what it told. */
export function schedulerOn(
  store: JobStore,
  clock: VirtualClock,
  other: Partial<SchedulerOptions> = {},
): { readonly scheduler: Scheduler; readonly events: SchedulerEvent[] } {
  const events: SchedulerEvent[] = [];
  const scheduler = new Scheduler({
    store,
    clock,
    holder: 'test',
    lease: 30_000,
    poll: 3_600_000,
    maxLosses: 3,
    keepDays: 400,
    limits: { atOnce: 100, perContext: 100 },
    listener: (event) => events.push(event),
    ...other,
  });
  return { scheduler, events };
}
