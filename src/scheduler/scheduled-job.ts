import type { JobReport } from '../operations/jobs/job.ts';
import type { MissedTicks } from './missed.ts';
import type { Schedule } from './schedule.ts';

/** What a run is told by the scheduler. */
export interface RunCircumstances {
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
  readonly work: (circumstances: RunCircumstances) => Promise<JobReport>;
  /** Seconds after which a run is told to end. */
  readonly timeout: number;
  /** Seconds by which its ticks may be put off: by how many is decided by its name, in every replica alike. */
  readonly jitter: number;
  readonly missed: MissedTicks;
  readonly onFailure: OnFailure;
  readonly dryRun: boolean;
  /** Differs where anything about the job does. */
  readonly fingerprint: string;
}
