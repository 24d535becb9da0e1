import { extname } from 'node:path';
import { expiryNotices } from '../../../jobs/expiry-notices.ts';
import { incidentLift } from '../../../jobs/incident-lift.ts';
import { logCheckpoint } from '../../../jobs/log-checkpoint.ts';
import { offboarding } from '../../../jobs/offboarding.ts';
import { ownerNotices } from '../../../jobs/owner-notices.ts';
import { revocationSweep } from '../../../jobs/revocation-sweep.ts';
import { settingsGuard } from '../../../jobs/settings-guard.ts';
import { tokenAudit } from '../../../jobs/token-audit.ts';
import { tokenCleanup } from '../../../jobs/token-cleanup.ts';
import type { Configuration } from '../../config/configuration.ts';
import type { JobKind, JobSettings } from '../../config/jobs.ts';
import type { Environment } from '../../config/paths.ts';
import { policyFrom } from '../../config/policy.ts';
import { TokenctlError } from '../../domain/errors.ts';
import { type Severity, severities, zeroBySeverity } from '../../domain/policy/rule.ts';
import type {
  JobContext,
  JobFiles,
  JobReport,
  LogJobContext,
  TargetJobContext,
} from '../../operations/jobs/job.ts';
import type { AuditLog } from '../../operations/ports/audit-log.ts';
import type { Notifier } from '../../operations/ports/notifier.ts';
import type { Clock } from '../../operations/ports/scheduler.ts';
import type { RunContext } from '../../scheduler/scheduled-job.ts';
import { dryRunAuditLog } from '../open-audit-log.ts';
import type { Component } from '../open-target.ts';
import { openOwnerMailer, ownerNoticeRules, requireOwnerNotices } from '../owner-notices.ts';
import { createRuntime, type Runtime } from '../runtime.ts';

/** What all runs share. */
export interface WorkOptions {
  readonly configuration: Configuration;
  readonly environment: Environment;
  readonly clock: Clock;
  readonly log: AuditLog;
  readonly files: JobFiles;
  /** The channels for a job's own notices, by name. */
  readonly notifiers: ReadonlyMap<string, Notifier>;
}

/** A job of the configuration, in one of its contexts. */
export interface ConfiguredJob {
  /** Its name in the ledger. */
  readonly name: string;
  readonly settings: JobSettings;
  /** Null for a job on the audit log. */
  readonly context: string | null;
}

/**
 * Runs a job once. The target is opened for each run, so that a replaced credential is used from the next run on.
 *
 * @throws TokenctlError whatever opening the target and the job throw.
 */
export async function runJob(
  { name, settings, context }: ConfiguredJob,
  run: RunContext,
  options: WorkOptions,
): Promise<JobReport> {
  const { configuration, environment, clock } = options;
  const { dryRun } = settings;
  const shared = {
    log: dryRun ? readOnlyLog(options.log, clock) : options.log,
    clock,
    files: options.files,
    due: run.due,
    dryRun,
    signal: run.signal,
  } satisfies Partial<JobContext>;
  const marks = { job: name, job_run: run.run };
  if (settings.job === 'log-checkpoint') {
    // A dry run signs the real log as well; it only does not store the checkpoint.
    const { openKeyFiles } = await import('../../audit-log/key-files.ts');
    const keys = openKeyFiles(settings.parameters.key);
    return await runOnLog(settings, { ...shared, log: options.log, actor: marks, keys });
  }
  const runtime = createRuntime({
    flags: {},
    configuration: { ...configuration, ...(context !== null && { currentContext: context }) },
    environment,
    notify: () => undefined,
  });
  const named = context ?? runtime.configuration.currentContext ?? '';
  try {
    return await inEachComponent(runtime, named, async (place, component) => {
      const { target: dryTarget, description, actor: caller } = await place.dryRun();
      const target = dryRun ? dryTarget : await place.target();
      const actor = { ...caller, ...marks };
      return await runOnTarget(
        withFilesOf(settings, { context: named, component }),
        { ...shared, target, description, actor },
        { configuration, environment, notifiers: recipients(settings, options.notifiers) },
      );
    });
  } finally {
    await runtime.close();
  }
}

/** A log with the entries of another. It stores nothing. */
function readOnlyLog(log: AuditLog, clock: Clock): AuditLog {
  return { ...dryRunAuditLog(clock), entries: (from, only) => log.entries(from, only) };
}

/** The channels of an expiry notices job: the configured ones, or all. */
function recipients(settings: JobSettings, notifiers: ReadonlyMap<string, Notifier>): readonly Notifier[] {
  const to = settings.job === 'expiry-notices' ? settings.parameters.to : undefined;
  return [...notifiers]
    .filter(([name]) => to === undefined || to.includes(name))
    .map(([, notifier]) => notifier);
}

/** A run of a job in one place of its context. */
type PartWork = (place: Runtime, component: Component | null) => Promise<JobReport>;

/** What a run came to in one component of a platform. */
interface Part {
  readonly component: Component;
  readonly report?: JobReport;
  readonly error?: unknown;
}

/**
 * Does a job's work in its context; on a platform whose gateway and controller both keep tokens, in one after the
 * other, so that a sweep leaves neither out.
 *
 * @param context The context's name.
 * @throws TokenctlError what the work throws; on a platform once both were tried.
 */
async function inEachComponent(runtime: Runtime, context: string, work: PartWork): Promise<JobReport> {
  const components = await runtime.components();
  if (components.length < 2) return await work(runtime, null);
  const parts: Part[] = [];
  for (const component of components) {
    const label = `${context}/${component}`;
    const place = runtime.in({ component, label, progress: runtime.progress });
    try {
      parts.push({ component, report: await work(place, component) });
    } catch (error) {
      if (!(error instanceof TokenctlError)) throw error;
      parts.push({ component, error });
    }
  }
  return joined(parts);
}

function joined(parts: readonly Part[]): JobReport {
  const errors = parts.flatMap(({ error }) => (error instanceof TokenctlError ? [error] : []));
  const reports = parts.flatMap(({ report }) => report ?? []);
  const message = parts.map(textOf).join('; ');
  const summary = Object.fromEntries(
    parts.map(({ component, report, error }) => [
      component,
      report?.summary ?? { failed: error instanceof TokenctlError ? error.code : 'bug' },
    ]),
  );
  const [first] = errors;
  if (first !== undefined) {
    const same = errors.length === parts.length && errors.every(({ code }) => code === first.code);
    throw new TokenctlError(same ? first.code : 'partly_done', message, {
      ...(first.hint !== undefined && { hint: first.hint }),
      details: summary,
      cause: first,
    });
  }
  const findings = reports.flatMap((report) => report.findings ?? []);
  return {
    message,
    summary,
    interrupted: reports.some(({ interrupted }) => interrupted === true),
    revoked: reports.reduce((sum, { revoked = 0 }) => sum + revoked, 0),
    ...(findings.length > 0 && { findings: sumOf(findings) }),
    notices: reports.flatMap(({ notices = [] }) => notices),
  };
}

function textOf({ component, report, error }: Part): string {
  return `${component}: ${report?.message ?? (error instanceof TokenctlError ? error.message : 'it failed')}`;
}

function sumOf(findings: readonly Readonly<Record<Severity, number>>[]): Record<Severity, number> {
  const sum = zeroBySeverity();
  for (const each of findings) for (const severity of severities) sum[severity] += each[severity];
  return sum;
}

/** Where a run of a job works. */
interface PlaceOfRun {
  readonly context: string;
  /** The component of a platform; null for a standalone controller. */
  readonly component: Component | null;
}

/** The placeholder for the context's name in a file name. */
const CONTEXT = '{context}';

/**
 * The settings of a job with the files that it reads and writes for one context: `{context}` in their names becomes
 * its name. Without that, the components of a platform have each a file of their own all the same.
 */
function withFilesOf(settings: TargetJobSettings, place: PlaceOfRun): TargetJobSettings {
  if (settings.job !== 'token-audit') return settings;
  const { report, baseline } = settings.parameters;
  return {
    ...settings,
    parameters: {
      ...settings.parameters,
      ...(report !== undefined && { report: fileOf(report, place) }),
      ...(baseline !== undefined && { baseline: fileOf(baseline, place) }),
    },
  };
}

function fileOf(path: string, { context, component }: PlaceOfRun): string {
  const label = component === null ? context : `${context}+${component}`;
  if (path.includes(CONTEXT)) return path.replaceAll(CONTEXT, label);
  if (component === null) return path;
  const extension = extname(path);
  return `${path.slice(0, path.length - extension.length)}.${component}${extension}`;
}

/** Every kind of job, by its name in the configuration. */
export const jobKinds = {
  'revocation-sweep': revocationSweep,
  'token-audit': tokenAudit,
  'expiry-notices': expiryNotices,
  'token-cleanup': tokenCleanup,
  'settings-guard': settingsGuard,
  offboarding,
  'owner-notices': ownerNotices,
  'incident-lift': incidentLift,
  'log-checkpoint': logCheckpoint,
} as const satisfies Readonly<Record<JobKind, { readonly name: string; readonly schedule: string }>>;

/** The kinds of job that work on a target. */
type TargetJobSettings = Exclude<JobSettings, { readonly job: 'log-checkpoint' }>;

/** What jobs get in addition to their own parameters. */
interface KindOptions {
  readonly configuration: Configuration;
  readonly environment: Environment;
  /** The channels for expiry notices. */
  readonly notifiers: readonly Notifier[];
}

/** Runs a job on a target with its parameters. Throws what the job throws. */
function runOnTarget(
  settings: TargetJobSettings,
  context: TargetJobContext,
  { configuration, environment, notifiers }: KindOptions,
): Promise<JobReport> {
  const { policy } = configuration;
  switch (settings.job) {
    case 'revocation-sweep': {
      const { parameters } = settings;
      const keepIfYounger = parameters.keepIfYounger * 1000;
      const given = { ...parameters, keepIfYounger, policy: policyFrom(parameters.policy ?? policy) };
      return revocationSweep.run(context, given);
    }
    case 'token-audit': {
      const { policy: own, rules, baseline, report, notifyAt } = settings.parameters;
      return tokenAudit.run(context, {
        policy: policyFrom(own ?? policy),
        rules: rules ?? null,
        baseline: baseline ?? null,
        report: report ?? null,
        notifyAt,
      });
    }
    case 'expiry-notices':
      return expiryNotices.run(context, { thresholds: settings.parameters.thresholds, notifiers });
    case 'owner-notices':
      return runOwnerNotices(context, { configuration, environment });
    case 'token-cleanup': {
      const { keepRevokedFor, atMost } = settings.parameters;
      return tokenCleanup.run(context, { keepRevokedFor: keepRevokedFor * 1000, atMost });
    }
    case 'settings-guard':
      return settingsGuard.run(context, settings.parameters);
    case 'offboarding':
      return offboarding.run(context, {
        ...settings.parameters,
        present: settings.parameters.present ?? null,
      });
    case 'incident-lift':
      return incidentLift.run(context, settings.parameters);
  }
}

/** Runs the job with the `ownerNotices` section, and closes the connection to the mail server. */
async function runOwnerNotices(
  context: TargetJobContext,
  { configuration, environment }: Pick<KindOptions, 'configuration' | 'environment'>,
): Promise<JobReport> {
  const settings = requireOwnerNotices(configuration.ownerNotices);
  const mailer = openOwnerMailer(settings, environment);
  try {
    return await ownerNotices.run(context, { rules: ownerNoticeRules(settings), mailer });
  } finally {
    await mailer.close();
  }
}

/** Runs a job on the audit log with its parameters. Throws what the job throws. */
function runOnLog(
  { parameters }: Extract<JobSettings, { readonly job: 'log-checkpoint' }>,
  context: LogJobContext,
): Promise<JobReport> {
  return logCheckpoint.run(context, { keepIn: parameters.keepIn ?? null, notify: parameters.notify });
}
