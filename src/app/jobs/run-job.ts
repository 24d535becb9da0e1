import { extname } from 'node:path';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { type Configuration, withSettings } from '../../config/configuration.ts';
import type { JobSettings } from '../../config/jobs.ts';
import type { Environment } from '../../config/paths.ts';
import { policyFrom } from '../../config/policy.ts';
import { type Severity, severities, zeroBySeverity } from '../../domain/policy/rule.ts';
import type {
  AnyJob,
  JobContext,
  JobFiles,
  JobReport,
  JobServices,
  SharedSettings,
} from '../../operations/jobs/job.ts';
import type { AuditLog } from '../../operations/ports/audit-log.ts';
import { type Clock, controllerClock } from '../../operations/ports/clock.ts';
import type { Notifier } from '../../operations/ports/notifier.ts';
import type { RunContext } from '../../scheduler/scheduled-job.ts';
import { errorNamingContext } from '../named-context.ts';
import { dryRunAuditLog, openLogKeys } from '../open-audit-log.ts';
import type { Component } from '../open-target.ts';
import { openOwnerMailer, ownerNoticeRules, requireOwnerNotices } from '../owner-notices.ts';
import { createRuntime, type Runtime } from '../runtime.ts';
import { jobKinds } from './job-kinds.ts';

/** Shared by all runs. */
export interface WorkOptions {
  readonly configuration: Configuration;
  readonly environment: Environment;
  readonly clock: Clock;
  readonly log: AuditLog;
  readonly files: JobFiles;
  /** The notifiers for a job's own notices, by name. */
  readonly notifiers: ReadonlyMap<string, Notifier>;
}

/** A configured job in one of its contexts. */
export interface ConfiguredJob {
  /** Its name in the ledger. */
  readonly name: string;
  readonly settings: JobSettings;
  /** Null for a job on the audit log. */
  readonly context: string | null;
}

/** Runs a job once. The target is reopened, so that the next run uses a replaced credential. */
export async function runJob(
  { name, settings, context }: ConfiguredJob,
  run: RunContext,
  options: WorkOptions,
): Promise<JobReport> {
  const { configuration, environment, clock } = options;
  const { dryRun, parameters } = settings;
  const kind = jobKind(settings.job);
  const marks = { job: name, job_run: run.run };
  const shared: Omit<JobContext, 'actor'> = {
    log: dryRun ? readOnlyLog(options.log, clock) : options.log,
    clock,
    files: options.files,
    services: servicesOf(options),
    due: run.due,
    dryRun,
    signal: run.signal,
  };
  // A dry run also signs the real log. It only does not store the checkpoint.
  if (kind.on === 'log') return await kind.run({ ...shared, log: options.log, actor: marks }, parameters);
  const runtime = createRuntime({
    flags: {},
    configuration:
      context === null ? configuration : withSettings(configuration, { currentContext: context }),
    environment,
    notify: () => undefined,
  });
  const named = context ?? runtime.configuration.currentContext ?? '';
  try {
    const isOnePlace = kind.inOnePlace === true;
    return await inEachComponent(runtime, { context: named, isOnePlace }, async (place, component) => {
      const { target: dryTarget, description, openNames, actor: caller } = await place.dryRun();
      const target = dryRun ? dryTarget : await place.target();
      const actor = { ...caller, ...marks };
      const files = filesIn({ context: named, component }, options.files);
      const its = controllerClock(clock, description);
      return await kind.run(
        { ...shared, clock: its, files, target, description, openNames, actor },
        parameters,
      );
    });
  } finally {
    await runtime.close();
  }
}

/** The kind of job with this name. The configuration was validated for it. */
export function jobKind(name: string): AnyJob {
  const kind = jobKinds.find((each) => each.name === name);
  if (kind !== undefined) return kind;
  throw new TokenctlError('configuration', `No kind of job is named "${name}"`);
}

/** The configuration outside the jobs' parameters. */
export function jobSettings({ policy, scheduler, ownerNotices }: Configuration): SharedSettings {
  return {
    policy: policyFrom(policy),
    channels: Object.keys(scheduler.notify),
    ownerNotices: () => ownerNoticeRules(requireOwnerNotices(ownerNotices)),
  };
}

function servicesOf({ configuration, environment, notifiers }: WorkOptions): JobServices {
  return {
    ...jobSettings(configuration),
    notifiers: (names) =>
      [...notifiers]
        .filter(([name]) => names === undefined || names.includes(name))
        .map(([, notifier]) => notifier),
    mailer: () => openOwnerMailer(requireOwnerNotices(configuration.ownerNotices), environment),
    async directory(name) {
      const { openDirectory } = await import('../open-directory.ts');
      return openDirectory(name, configuration.directories, environment);
    },
    async store(name, consumer) {
      const { openStore } = await import('../open-store.ts');
      return await openStore(name, { configuration, consumer, environment });
    },
    async polledStreams(auditLog, signal) {
      const { openPolledStreams } = await import('../signals/streams.ts');
      return await openPolledStreams({ configuration, environment, auditLog, signal, notifiers });
    },
    logKeys: async (path) =>
      await openLogKeys({ ...configuration.auditLog, ...(path !== undefined && { key: path }) }, environment),
  };
}

/** A log with the entries of another one, which stores nothing. */
function readOnlyLog(log: AuditLog, clock: Clock): AuditLog {
  return { ...dryRunAuditLog(clock), entries: (from, only) => log.entries(from, only) };
}

type PartWork = (place: Runtime, component: Component | null) => Promise<JobReport>;

/** The result of a run in one component of a platform. */
interface Part {
  readonly component: Component;
  readonly report?: JobReport;
  readonly error?: unknown;
}

/** Runs a job in each component of a platform that stores tokens, one by one. Throws after all were tried. */
async function inEachComponent(
  runtime: Runtime,
  { context, isOnePlace }: { context: string; isOnePlace: boolean },
  work: PartWork,
): Promise<JobReport> {
  const components = isOnePlace ? [] : await runtime.components();
  if (components.length < 2) {
    return await work(runtime, null).catch((error: unknown) => {
      throw errorNamingContext(error, context);
    });
  }
  const parts: Part[] = [];
  for (const component of components) {
    const label = `${context}/${component}`;
    const place = runtime.in({ component, label, progress: runtime.progress });
    try {
      parts.push({ component, report: await work(place, component) });
    } catch (error) {
      if (!(error instanceof TokenctlError)) throw error;
      parts.push({ component, error: errorNamingContext(error, label) });
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
      hint: first.hint,
      details: summary,
      cause: first,
    });
  }
  const findings = reports.flatMap((report) => report.findings ?? []);
  const byRule = reports.map(({ findingsByRule = {} }) => findingsByRule);
  return {
    message,
    summary,
    interrupted: reports.some(({ interrupted }) => interrupted === true),
    revoked: reports.reduce((sum, { revoked = 0 }) => sum + revoked, 0),
    ...(findings.length > 0 && { findings: sumOf(findings), findingsByRule: sumOfRules(byRule) }),
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

/** Only rules that were checked in all components. Partial sums would look like totals. */
function sumOfRules(all: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const rules = Object.keys(all[0] ?? {}).filter((rule) => all.every((each) => rule in each));
  return Object.fromEntries(
    rules.map((rule) => [rule, all.reduce((sum, each) => sum + (each[rule] ?? 0), 0)]),
  );
}

interface PlaceOfRun {
  readonly context: string;
  /** The component of a platform; null for a standalone controller. */
  readonly component: Component | null;
}

/** The placeholder for the context's name in a file name. */
const CONTEXT = '{context}';

/** The files of a job in one context, which replaces `{context}`. Components always get separate files. */
function filesIn(place: PlaceOfRun, files: JobFiles): JobFiles {
  return {
    ...files,
    baseline: (path) => files.baseline(fileOf(path, place)),
    writeBaseline: (path, keys, now) => files.writeBaseline(fileOf(path, place), keys, now),
    writeReport: (path, audit, description) => files.writeReport(fileOf(path, place), audit, description),
  };
}

function fileOf(path: string, { context, component }: PlaceOfRun): string {
  const label = component === null ? context : `${context}+${component}`;
  if (path.includes(CONTEXT)) return path.replaceAll(CONTEXT, label);
  if (component === null) return path;
  const extension = extname(path);
  return `${path.slice(0, path.length - extension.length)}.${component}${extension}`;
}
