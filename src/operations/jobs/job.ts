import { TokenctlError } from '@tokenctl/common/errors.ts';
import { numberText } from '@tokenctl/common/text.ts';
import type { z } from 'zod';
import type { Audit, Baseline } from '../../domain/policy/judge.ts';
import type { Policy } from '../../domain/policy/policy.ts';
import type { Severity } from '../../domain/policy/rule.ts';
import type { AuditLog, LogKeys } from '../ports/audit-log.ts';
import type { Clock } from '../ports/clock.ts';
import type { Directory } from '../ports/directory.ts';
import type { Mailer, Notifier } from '../ports/notifier.ts';
import type { SecretStore } from '../ports/secret-store.ts';
import type { ReadTarget, Target, TargetDescription } from '../ports/target.ts';
import type { PolledStreams } from '../ports/transmitters.ts';
import type { RevocationReport } from '../revocation/revocation-report.ts';
import type { OwnerNoticeRules } from '../token-audit/owner-notices.ts';

/** The source of names: a file with one per line, or a program that prints them. */
export type NameSource =
  | { readonly file: string }
  /** The program and its arguments, run without a shell. */
  | { readonly command: readonly string[] };

/** The files and programs that jobs use. Files are written atomically. */
export interface JobFiles {
  /**
   * Reads names, one per line. Skips empty lines and lines that start with `#`.
   * @throws TokenctlError `configuration` if the file cannot be read or the program fails.
   */
  names(source: NameSource, signal: AbortSignal): Promise<readonly string[]>;
  /** The text of a file; null if it does not exist. Throws `configuration` if it cannot be read. */
  read(path: string): Promise<string | null>;
  /** Throws `configuration` if it cannot be written. */
  replace(path: string, text: string): Promise<void>;
  /** The known findings; null if none were written yet. Throws `configuration`. */
  baseline(path: string): Promise<Baseline | null>;
  /** Replaces the known findings. Throws `configuration`. */
  writeBaseline(path: string, keys: readonly string[], now: Date): Promise<void>;
  /**
   * Writes an audit's findings in the format of the file extension: html, sarif, json or csv. Reads the audit
   * to its end. Throws `configuration`, and whatever the audit throws.
   */
  writeReport(path: string, audit: Audit, description: TargetDescription): Promise<void>;
}

/** The configuration outside a job's own parameters. */
export interface SharedSettings {
  readonly policy: Policy;
  readonly channels: readonly string[];
  /** The section `ownerNotices`. Throws `configuration` without it. */
  ownerNotices(): OwnerNoticeRules;
}

/** What a job can open in addition to its target, on first use. */
export interface JobServices extends SharedSettings {
  /** The channels with these names; all channels if no names are given. */
  notifiers(names?: readonly string[]): readonly Notifier[];
  /** The mail server of the section `ownerNotices`, which the job closes. Throws `configuration`. */
  mailer(): Mailer;
  /** A directory in the configuration. Throws `not_found`, `configuration`. */
  directory(name: string): Promise<Directory>;
  /** The place of a consumer in a configured store. Throws `not_found`, `configuration`. */
  store(name: string, consumer: string): Promise<SecretStore>;
  /**
   * The streams of security events that are polled, which the job closes. Throws `configuration` without the
   * section `signals`, `database_unreachable`.
   */
  polledStreams(log: AuditLog, signal: AbortSignal): Promise<PolledStreams>;
  /** The keys that sign checkpoints, from a file; the audit log's key if no path is given. */
  logKeys(path: string | undefined): Promise<Pick<LogKeys, 'signer' | 'verifiers'>>;
}

/** The context of every job. In a dry run, the log stores nothing and no files are written. */
export interface JobContext {
  readonly log: AuditLog;
  readonly clock: Clock;
  /** Includes the job's name and the run's UUID, which every entry of the audit log records. */
  readonly actor: Readonly<Record<string, string>>;
  readonly files: JobFiles;
  readonly services: JobServices;
  /** The time of the tick being run. */
  readonly due: Date;
  readonly dryRun: boolean;
  /**
   * Aborted when the run must end: the scheduler stops, the time limit has passed, or the claim was lost. An
   * operation finishes and records the batch in progress.
   */
  readonly signal: AbortSignal;
}

/** The additional context of a job on a target. In a dry run the target changes nothing. */
export interface TargetJobContext extends JobContext {
  readonly target: Target;
  readonly description: TargetDescription;
  readonly openNames?: ReadTarget['openNames'];
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
  /** A sentence for readers. */
  readonly message: string;
  /** For the ledger: plain JSON without secrets. The audit log has the details. */
  readonly summary: Readonly<Record<string, unknown>>;
  /** Whether the signal ended it early: another run does the rest. */
  readonly interrupted?: boolean;
  /** Number of access tokens revoked or deleted, for the metrics. */
  readonly revoked?: number;
  readonly findings?: Readonly<Record<Severity, number>>;
  /** The same for each rule that was checked, including rules without findings. */
  readonly findingsByRule?: Readonly<Record<string, number>>;
  /** Notices to send although the run succeeded. */
  readonly notices?: readonly JobNotice[];
}

/** The contexts of jobs: on a target, or on the audit log itself. */
interface JobContexts {
  readonly target: TargetJobContext;
  readonly log: JobContext;
}

/** A kind of job. It calls the same operations as the commands. */
export interface Job<Parameters = unknown, On extends keyof JobContexts = keyof JobContexts> {
  /** The name of its kind in the configuration. */
  readonly name: string;
  readonly on: On;
  /** The default schedule: a cron expression. */
  readonly schedule: string;
  /** Whether it changes or sends anything: it is then a dry run until the configuration says otherwise. */
  readonly dryRun: boolean;
  /**
   * Set if the job runs in one place of a platform, the one that creates new tokens. Otherwise it runs on the
   * gateway and the controller.
   */
  readonly inOnePlace?: true;
  /** The shape of its parameters in the configuration. Built when a configuration has a job of this kind. */
  parameters(): z.ZodType<Parameters>;
  /** Checks what the shape cannot express, without connecting. Throws `TokenctlError`. */
  check?(parameters: Given<Parameters>, settings: SharedSettings): void;
  /** Runs the job. Imports its operation on demand: every command reads the definitions. */
  run(context: JobContexts[On], parameters: Given<Parameters>): Promise<JobReport>;
}

/** A read-only view of a job's input. */
type Given<Value> = Value extends object ? { readonly [Key in keyof Value]: Given<Value[Key]> } : Value;

/** A job whose parameters were validated. */
export type AnyJob = Job<unknown, 'target'> | Job<unknown, 'log'>;

/** Defines a job. The types of its parameters are inferred from their shape. */
export function defineJob<Parameters, On extends keyof JobContexts>(
  job: Job<Parameters, On>,
): Job<Parameters, On> {
  return job;
}

/**
 * The result of a revocation, as a job reports it.
 * @param counted The counts of the plan, for the ledger.
 * @throws TokenctlError `partly_done` if planned tokens remain although the run was not stopped, or if the
 * selection is not empty afterwards.
 */
export function revocationJobReport(
  report: RevocationReport,
  counted: Readonly<Record<string, unknown>>,
): JobReport {
  const { planned, revoked, unchanged, failed, notTried, stillAlive, refreshTokens, sessions, run } = report;
  const { authorizationCodes: codes, verification, madeSince } = report;
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
    ...(madeSince !== null && { madeSince }),
    auditRun: run,
  };
  const doubt = verification.result === 'not_checked' ? `. Not verified: ${verification.why}` : '';
  const message = `Revoked ${numberText(revoked)} of ${numberText(planned)} tokens${doubt}`;
  if (report.interrupted)
    return { message: `${message} before it was stopped`, summary, revoked, interrupted: true };
  const alive =
    failed.length +
    notTried +
    stillAlive.length +
    (refreshTokens?.failed.length ?? 0) +
    (refreshTokens?.notTried ?? 0) +
    (refreshTokens?.stillAlive.length ?? 0) +
    (codes?.failed.length ?? 0) +
    (codes?.notTried ?? 0) +
    (sessions?.stillAlive ?? 0) +
    (madeSince?.accessTokens ?? 0) +
    (madeSince?.refreshTokens ?? 0) +
    (sessions?.begunSince ?? 0);
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
