import { TokenctlError } from '../../domain/errors.ts';
import type { Severity } from '../../domain/policy/rule.ts';
import type { AuditLog, LogKeys } from '../ports/audit-log.ts';
import type { JobFiles } from '../ports/job-files.ts';
import type { Clock } from '../ports/scheduler.ts';
import type { Target, TargetDescription } from '../ports/target.ts';
import type { RevocationReport } from '../revocation/revocation-report.ts';

/** What every run of a job works with. In a dry run the log keeps nothing, and files are left as they are. */
export interface JobContext {
  readonly log: AuditLog;
  readonly clock: Clock;
  /** With the job's name and the run's UUID in it, so that every entry of the audit log carries them. */
  readonly actor: Readonly<Record<string, string>>;
  readonly files: JobFiles;
  /** The tick that is run. */
  readonly due: Date;
  readonly dryRun: boolean;
  /**
   * Aborted where the run has to end: the scheduler stops, the time is up, or the claim was lost. What works
   * in batches finishes and records the one in flight.
   */
  readonly signal: AbortSignal;
}

/** What a job on a target works with besides. In a dry run the target changes nothing. */
export interface TargetJobContext extends JobContext {
  readonly target: Target;
  readonly description: TargetDescription;
}

/** What a job on the audit log itself works with besides. */
export interface LogJobContext extends JobContext {
  readonly keys: Pick<LogKeys, 'signer' | 'verifiers'>;
}

/** What is told to people outside of the log. Holds no secret. */
export interface JobNotice {
  /** One line. */
  readonly subject: string;
  readonly text: string;
  readonly severity: 'info' | 'warning' | 'error';
}

/** What a run of a job did. One that throws a `TokenctlError` has failed. */
export interface JobReport {
  /** One sentence for people. */
  readonly message: string;
  /** For the ledger: plain JSON without secrets; what exactly was changed stands in the audit log. */
  readonly summary: Readonly<Record<string, unknown>>;
  /** Whether the signal ended it before it was through: the rest is another run's. */
  readonly interrupted?: boolean;
  /** How many access tokens were revoked or deleted, for the metrics. */
  readonly revoked?: number;
  /** How many findings there are, for the metrics. */
  readonly findings?: Readonly<Record<Severity, number>>;
  /** What somebody has to be told although all went well. */
  readonly notices?: readonly JobNotice[];
}

/** One kind of job: thin, since it calls the operations that commands call as well. */
export interface Job<Context extends JobContext, Parameters> {
  readonly name: string;
  /** When it runs where the configuration does not say: a cron expression. */
  readonly schedule: string;
  /** Throws `TokenctlError` where it could not do its work, or was told not to. */
  run(context: Context, parameters: Parameters): Promise<JobReport>;
}

/**
 * What a revocation came to, as a job reports it.
 *
 * @param counted What the plan said, for the ledger.
 * @throws TokenctlError `partly_done` where something that was planned lives on for another reason than
 * that the run was told to end.
 */
export function revocationJobReport(
  report: RevocationReport,
  counted: Readonly<Record<string, unknown>>,
): JobReport {
  const { planned, revoked, unchanged, failed, notTried, stillAlive, refreshTokens, sessions, run } = report;
  const summary = {
    ...counted,
    planned,
    revoked,
    unchanged,
    failed: failed.length,
    notTried,
    stillAlive: stillAlive.length,
    ...(refreshTokens !== null && { refreshTokens: refreshTokens.revoked }),
    ...(sessions !== null && { sessions: sessions.ended }),
    auditRun: run,
  };
  const message = `Revoked ${revoked} of ${planned} tokens`;
  if (report.interrupted)
    return { message: `${message} before it was told to end`, summary, revoked, interrupted: true };
  const alive =
    failed.length +
    notTried +
    stillAlive.length +
    (refreshTokens?.failed.length ?? 0) +
    (sessions?.stillAlive ?? 0);
  if (alive === 0 && report.stopped === null) return { message, summary, revoked };
  throw new TokenctlError(
    'partly_done',
    `${message}${report.stopped === null ? '' : `: ${report.stopped.message}`}`,
    {
      hint: report.stopped?.hint ?? `\`tokenctl log list --run ${run}\` shows what failed, and why.`,
      details: summary,
    },
  );
}
