import type { JobReport } from '../operations/jobs/job.ts';
import type { Claim, RunSummary } from '../operations/ports/scheduler.ts';
import type { Schedule } from './schedule.ts';
import type { MisfirePolicy } from './scheduler.ts';

/** What a run is told by the scheduler. */
export interface RunContext {
  /** The run's UUID. */
  readonly run: string;
  readonly due: Date;
  /** Aborted where the run has to end. */
  readonly signal: AbortSignal;
}

/** What becomes of a tick whose run failed. */
interface OnFailure {
  /** How many times it is tried again. */
  readonly retries: number;
  /** Seconds until it is tried again; doubled each time. */
  readonly retryAfter: number;
}

/** A job as the scheduler runs it. */
export interface ScheduledJob {
  /** Its name in the ledger: that of the configuration, `@` and the context where it has one. */
  readonly name: string;
  readonly schedule: Schedule;
  /** The schedule in words that differ where the schedule does. */
  readonly scheduleText: string;
  readonly work: (context: RunContext) => Promise<JobReport>;
  /** Seconds after which a run is told to end. */
  readonly timeout: number;
  /** Seconds by which its ticks may be put off: by how many is decided by its name, in every replica alike. */
  readonly jitter: number;
  readonly missed: MisfirePolicy;
  readonly onFailure: OnFailure;
  readonly dryRun: boolean;
  /** Differs where anything about the job does. */
  readonly fingerprint: string;
}

/** Something that happened, for metrics, logs and notices. */
export type SchedulerEvent =
  | { readonly kind: 'run_started'; readonly job: ScheduledJob; readonly claim: Claim }
  | RunEnded
  /** Ticks that are not run, `due` being the newest of them. */
  | { readonly kind: 'skipped'; readonly job: ScheduledJob; readonly due: Date }
  /** A tick whose runs were lost again and again, or that somebody asked for who is gone. */
  | { readonly kind: 'abandoned'; readonly job: ScheduledJob; readonly due: Date; readonly reason: string }
  /** Something went wrong outside of a run; it is tried again. */
  | { readonly kind: 'error'; readonly job: ScheduledJob; readonly error: unknown };

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
