import { TokenctlError } from '../../domain/errors.ts';
import type { Audit, Baseline } from '../../domain/policy/judge.ts';
import type { Severity } from '../../domain/policy/rule.ts';
import type { AuditLog, LogKeys } from '../ports/audit-log.ts';
import type { Clock } from '../ports/scheduler.ts';
import type { Target, TargetDescription } from '../ports/target.ts';
import type { RevocationReport } from '../revocation/revocation-report.ts';

/** Where names come from: a file with one a line, or what a program prints so. */
export type NameSource =
  | { readonly file: string }
  /** The program and its arguments; no shell reads them. */
  | { readonly command: readonly string[] };

/** The files and programs that jobs use. Everything is written whole or not at all. */
export interface JobFiles {
  /**
   * Reads names, one a line; empty lines and those that begin with `#` are left out.
   *
   * @throws TokenctlError `configuration` where the file cannot be read, or the program fails.
   */
  names(source: NameSource, signal: AbortSignal): Promise<readonly string[]>;
  /** The text of a file; null if it does not exist. Throws `configuration` if it cannot be read. */
  read(path: string): Promise<string | null>;
  /** Throws `configuration` where it cannot be written. */
  replace(path: string, text: string): Promise<void>;
  /** The findings that are known; null where nothing was written yet. Throws `configuration`. */
  baseline(path: string): Promise<Baseline | null>;
  /** Writes the findings that are known from now on. Throws `configuration`. */
  writeBaseline(path: string, keys: readonly string[], now: Date): Promise<void>;
  /**
   * Writes an audit's findings in the format that the path's ending names: html, sarif, json or csv. Reads
   * the audit to its end. Throws `configuration`, and whatever the audit throws.
   */
  writeReport(path: string, audit: Audit, description: TargetDescription): Promise<void>;
}

/** What every job needs. In a dry run the log stores nothing, and files are not written. */
export interface JobContext {
  readonly log: AuditLog;
  readonly clock: Clock;
  /** Includes the job's name and the run's UUID, which every entry of the audit log records. */
  readonly actor: Readonly<Record<string, string>>;
  readonly files: JobFiles;
  /** The tick that is run. */
  readonly due: Date;
  readonly dryRun: boolean;
  /**
   * Aborted when the run must end: the scheduler stops, the time limit has passed, or the claim was lost. An
   * operation finishes and records the batch in progress.
   */
  readonly signal: AbortSignal;
}

/** In addition, for a job on a target. In a dry run the target changes nothing. */
export interface TargetJobContext extends JobContext {
  readonly target: Target;
  readonly description: TargetDescription;
}

/** In addition, for a job on the audit log itself. */
export interface LogJobContext extends JobContext {
  readonly keys: Pick<LogKeys, 'signer' | 'verifiers'>;
}

/** A message to the notification channels, without secrets. */
export interface JobNotice {
  /** One line. */
  readonly subject: string;
  readonly text: string;
  readonly severity: 'info' | 'warning' | 'error';
}

/** The result of a run. A run that throws a `TokenctlError` has failed. */
export interface JobReport {
  /** One sentence for people. */
  readonly message: string;
  /** For the ledger: plain JSON without secrets. The audit log has the details. */
  readonly summary: Readonly<Record<string, unknown>>;
  /** Whether the signal ended it early: another run does the rest. */
  readonly interrupted?: boolean;
  /** How many access tokens were revoked or deleted, for the metrics. */
  readonly revoked?: number;
  /** How many findings there are, for the metrics. */
  readonly findings?: Readonly<Record<Severity, number>>;
  /** Notices to send although the run succeeded. */
  readonly notices?: readonly JobNotice[];
}

/** A kind of job. It calls the same operations as the commands. */
export interface Job<Context extends JobContext, Parameters> {
  readonly name: string;
  /** The default schedule: a cron expression. */
  readonly schedule: string;
  /** Throws `TokenctlError` if it fails or stops early. */
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
  const { authorizationCodes: codes, verification } = report;
  const summary = {
    ...counted,
    planned,
    revoked,
    unchanged,
    failed: failed.length,
    notTried,
    stillAlive: stillAlive.length,
    verification: verification.result,
    ...(refreshTokens !== null && { refreshTokens: refreshTokens.revoked }),
    ...(sessions !== null && { sessions: sessions.ended }),
    auditRun: run,
  };
  const doubt = verification.result === 'not_checked' ? `. Not verified: ${verification.why}` : '';
  const message = `Revoked ${revoked} of ${planned} tokens${doubt}`;
  if (report.interrupted)
    return { message: `${message} before it was told to end`, summary, revoked, interrupted: true };
  const alive =
    failed.length +
    notTried +
    stillAlive.length +
    (refreshTokens?.failed.length ?? 0) +
    (refreshTokens?.notTried ?? 0) +
    (refreshTokens?.stillAlive.length ?? 0) +
    (codes?.failed.length ?? 0) +
    (codes?.notTried ?? 0) +
    (sessions?.stillAlive ?? 0);
  if (alive === 0 && report.stopped === null) return { message, summary, revoked };
  throw new TokenctlError(
    'partly_done',
    `${message}${report.stopped === null ? '' : `: ${report.stopped.message}`}`,
    {
      hint: report.stopped?.hint ?? `\`tokenctl log show ${run}\` shows what failed, and why.`,
      details: summary,
    },
  );
}
