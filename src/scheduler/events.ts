import type { JobReport } from '../operations/jobs/job.ts';
import type { Claim, RunSummary } from '../operations/ports/scheduler.ts';
import type { ScheduledJob } from './scheduled-job.ts';

/** Something that happened, for metrics, logs and notices. */
export type SchedulerEvent =
  | { readonly kind: 'run_began'; readonly job: ScheduledJob; readonly claim: Claim }
  | RunEnded
  /** Ticks that are not run, `due` being the newest of them. */
  | { readonly kind: 'passed_over'; readonly job: ScheduledJob; readonly due: Date }
  /** A tick whose runs were lost again and again, or that somebody asked for who is gone. */
  | { readonly kind: 'given_up'; readonly job: ScheduledJob; readonly due: Date; readonly reason: string }
  /** Something went wrong outside of a run; it is tried again. */
  | { readonly kind: 'trouble'; readonly job: ScheduledJob; readonly error: unknown };

/** A run that ended. */
export interface RunEnded {
  readonly kind: 'run_ended';
  readonly job: ScheduledJob;
  readonly claim: Claim;
  /** `lost`: another replica has taken the tick over meanwhile. */
  readonly state: 'completed' | 'failed' | 'interrupted' | 'lost';
  /** From when on the tick is tried again; null where it is not. */
  readonly retryAt: Date | null;
  readonly summary: RunSummary;
  /** What the job reported, where it did. */
  readonly report: JobReport | null;
  /** What it threw, where it did. */
  readonly error: unknown;
  readonly seconds: number;
}

/** Takes events. It neither throws nor makes anybody wait. */
export type EventListener = (event: SchedulerEvent) => void;
