import type { JobReport } from '../operations/jobs/job.ts';
import type { Claim, RunSummary } from '../operations/ports/scheduler.ts';
import type { Schedule } from './schedule.ts';

export interface RunContext {
  readonly run: string;
  readonly due: Date;
  /** Aborted when the run must stop. */
  readonly signal: AbortSignal;
}

/** What happens to missed ticks: no replica was running, or the previous run took too long. */
export interface MisfirePolicy {
  /** Run all of them in order, only the newest, or none. */
  readonly run: 'all' | 'last' | 'none';
  /** The maximum age of a tick that is still run, in seconds. */
  readonly within: number;
}

interface OnFailure {
  /** How often a failed tick is retried. */
  readonly retries: number;
  /** Seconds until the first retry. Doubled each time. */
  readonly retryAfter: number;
}

export interface ScheduledJob {
  /** Its name in the ledger: `name` or `name@context`. */
  readonly name: string;
  /** Null for a job on the audit log. */
  readonly context: string | null;
  readonly schedule: Schedule;
  /** Identifies the schedule: it changes if the schedule does. */
  readonly scheduleText: string;
  readonly work: (context: RunContext) => Promise<JobReport>;
  /** Seconds after which a run is stopped. */
  readonly timeout: number;
  /** The maximum delay of its ticks in seconds. The job's name determines the delay, so that all replicas agree. */
  readonly jitter: number;
  readonly missed: MisfirePolicy;
  readonly onFailure: OnFailure;
  readonly dryRun: boolean;
  /** Changes if anything about the job does. */
  readonly fingerprint: string;
}

/** For metrics, logs and notices. */
export type SchedulerEvent =
  | { readonly kind: 'run_started'; readonly job: ScheduledJob; readonly claim: Claim }
  | RunEnded
  /** Skipped ticks. `due` is the newest. */
  | { readonly kind: 'skipped'; readonly job: ScheduledJob; readonly due: Date }
  /** A tick that is not retried: its runs were lost too often, or its manual run was killed. */
  | { readonly kind: 'abandoned'; readonly job: ScheduledJob; readonly due: Date; readonly reason: string }
  /** An error outside a run. The scheduler retries. */
  | { readonly kind: 'error'; readonly job: ScheduledJob; readonly error: unknown };

export interface RunEnded {
  readonly kind: 'run_ended';
  readonly job: ScheduledJob;
  readonly claim: Claim;
  /** `lost`: another replica took the tick over. */
  readonly state: 'completed' | 'failed' | 'interrupted' | 'lost';
  /** When the tick is retried; null for no retry. */
  readonly retryAt: Date | null;
  readonly summary: RunSummary;
  /** The job's report; null if it threw. */
  readonly report: JobReport | null;
  /** The job's error; null if it returned. */
  readonly error: unknown;
  readonly seconds: number;
}

/** Must never throw or block. */
export type EventListener = (event: SchedulerEvent) => void;
