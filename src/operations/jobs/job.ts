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

/** Where names come from: a file with one a line, or what a program prints so. */
export type NameSource =
  | { readonly file: string }
  /** The program and its arguments; no shell reads them. */
  | { readonly command: readonly string[] };

/** The files and programs that jobs use. Everything is written whole or not at all. */
export interface JobFiles {
  /**
   * Reads names, one a line; empty lines and those that begin with `#` are left out.
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

/** What the configuration says outside of a job's own parameters. */
export interface SharedSettings {
  readonly policy: Policy;
  /** The names of the notification channels. */
  readonly channels: readonly string[];
  /** The section `ownerNotices`. Throws `configuration` without it. */
  ownerNotices(): OwnerNoticeRules;
}

/** What a job gets from outside besides its target: opened when the job asks. */
export interface JobServices extends SharedSettings {
  /** The channels of these names; all of them without names. */
  notifiers(names?: readonly string[]): readonly Notifier[];
  /** The mail server of the section `ownerNotices`, which the job closes. Throws `configuration`. */
  mailer(): Mailer;
  /** A directory of the configuration. Throws `not_found`, `configuration`. */
  directory(name: string): Promise<Directory>;
  /** The place of a consumer in a store of the configuration. Throws `not_found`, `configuration`. */
  store(name: string, consumer: string): Promise<SecretStore>;
  /**
   * The streams of security events that are polled, which the job closes. Throws `configuration` without the section `signals`,
   * `database_unreachable`.
   */
  polledStreams(log: AuditLog, signal: AbortSignal): Promise<PolledStreams>;
  /** The key in a file, which signs checkpoints; the key of the audit log without one. */
  logKeys(path: string | undefined): Promise<Pick<LogKeys, 'signer' | 'verifiers'>>;
}

/** What every job needs. In a dry run the log stores nothing, and files are not written. */
export interface JobContext {
  readonly log: AuditLog;
  readonly clock: Clock;
  /** Includes the job's name and the run's UUID, which every entry of the audit log records. */
  readonly actor: Readonly<Record<string, string>>;
  readonly files: JobFiles;
  readonly services: JobServices;
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
  /** The same by each rule that was checked, those that found nothing included. */
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
  /** What the configuration calls it. */
  readonly name: string;
  /** What it works on. */
  readonly on: On;
  /** The default schedule: a cron expression. */
  readonly schedule: string;
  /** Whether it changes or tells anything, so that it is a dry run until the configuration says otherwise. */
  readonly dryRun: boolean;
  /** Set where a platform is one place to it, the one that makes new tokens; otherwise it works in the gateway and in the controller. */
  readonly inOnePlace?: true;
  /** The shape of its parameters in the configuration. Built when a configuration has a job of this kind. */
  parameters(): z.ZodType<Parameters>;
  /** Checks what the shape cannot tell, without connecting. Throws `TokenctlError`. */
  check?(parameters: Given<Parameters>, settings: SharedSettings): void;
  /** Loads its operation, and calls it: every command reads the definitions. Throws if it stops early. */
  run(context: JobContexts[On], parameters: Given<Parameters>): Promise<JobReport>;
}

/** What a job is given, which it leaves as it is. */
type Given<Value> = Value extends object ? { readonly [Key in keyof Value]: Given<Value[Key]> } : Value;

/** A job whose parameters were checked by their shape. */
export type AnyJob = Job<unknown, 'target'> | Job<unknown, 'log'>;

/** A job in one definition. The types of its parameters follow from their shape. */
export function defineJob<Parameters, On extends keyof JobContexts>(
  job: Job<Parameters, On>,
): Job<Parameters, On> {
  return job;
}

/**
 * What a revocation came to, as a job reports it.
 * @param counted What the plan said, for the ledger.
 * @throws TokenctlError `partly_done` where something that was planned lives on for another reason than that
 * the run was stopped, and where the selection is not empty afterwards.
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
