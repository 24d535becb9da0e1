import type { Configuration } from '../../config/configuration.ts';
import type { JobSettings } from '../../config/jobs.ts';
import type { Environment } from '../../config/paths.ts';
import type { JobContext, JobReport } from '../../operations/jobs/job.ts';
import type { AuditLog } from '../../operations/ports/audit-log.ts';
import type { Clock } from '../../operations/ports/clock.ts';
import type { JobFiles } from '../../operations/ports/job-files.ts';
import type { Notifier } from '../../operations/ports/notifier.ts';
import type { RunCircumstances } from '../../scheduler/scheduled-job.ts';
import { rehearsalLog } from '../dry-run-audit-log.ts';
import { createRuntime } from '../runtime.ts';
import { withFilesOf } from './files-of-context.ts';
import { inEachComponent } from './platform-work.ts';
import { runOnLog, runOnTarget } from './run-kind.ts';

/** What runs of all jobs share. */
export interface WorkOptions {
  readonly configuration: Configuration;
  readonly environment: Environment;
  readonly clock: Clock;
  readonly log: AuditLog;
  readonly files: JobFiles;
  /** Whom jobs tell by themselves, by name. */
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
 * Runs a job once. The way to the target is opened for the run and closed after it: credentials are read
 * anew each time, so that one that was replaced is taken from the next run on.
 *
 * @throws TokenctlError whatever opening the target and the job throw.
 */
export async function runJob(
  { name, settings, context }: ConfiguredJob,
  run: RunCircumstances,
  options: WorkOptions,
): Promise<JobReport> {
  const { configuration, environment, clock } = options;
  const { dryRun } = settings;
  const shared = {
    log: dryRun ? rehearsed(options.log, clock) : options.log,
    clock,
    files: options.files,
    due: run.due,
    dryRun,
    signal: run.signal,
  } satisfies Partial<JobContext>;
  const marks = { job: name, job_run: run.run };
  if (settings.job === 'log-checkpoint') {
    // A checkpoint is of the log as it is, also where nothing is kept of it.
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
      const rehearsal = await place.rehearsal();
      const { description } = rehearsal;
      const target = dryRun ? rehearsal.target : await place.target();
      const actor = { ...rehearsal.actor, ...marks };
      return await runOnTarget(
        withFilesOf(settings, { context: named, component }),
        { ...shared, target, description, actor },
        { policy: configuration.policy, notifiers: recipients(settings, options.notifiers) },
      );
    });
  } finally {
    await runtime.close();
  }
}

/** A log that has the entries of another, and keeps none that it is given. */
function rehearsed(log: AuditLog, clock: Clock): AuditLog {
  return { ...rehearsalLog(clock), entries: (from, only) => log.entries(from, only) };
}

/** Whom a job of expiry notices tells: those it names, or everybody. */
function recipients(settings: JobSettings, notifiers: ReadonlyMap<string, Notifier>): readonly Notifier[] {
  const to = settings.job === 'expiry-notices' ? settings.parameters.to : undefined;
  return [...notifiers]
    .filter(([name]) => to === undefined || to.includes(name))
    .map(([, notifier]) => notifier);
}
