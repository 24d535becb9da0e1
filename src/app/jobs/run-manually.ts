import { hostname } from 'node:os';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { withSettings } from '../../config/configuration.ts';
import { expandGroups } from '../../config/contexts.ts';
import { nearestName } from '../../domain/nearest-name.ts';
import { machineClock } from '../../operations/ports/clock.ts';
import { runNow } from '../../scheduler/execute.ts';
import type { RunEnded, ScheduledJob } from '../../scheduler/scheduled-job.ts';
import type { Runtime } from '../runtime.ts';
import { catchSignals } from '../stop-signals.ts';
import { matchesJob } from './inspect.ts';
import { noticesOf, Recipients } from './job-events.ts';
import { jobFiles } from './job-files.ts';
import { openLedger } from './open-ledger.ts';
import { scheduledJobs } from './scheduled-jobs.ts';

export interface RunManuallyOptions {
  readonly runtime: Runtime;
  /** A name from the configuration, for all of its contexts, or that name with `@` and one context. */
  readonly name: string;
  /** Only these contexts, in the form of `--context`: one, a comma-separated list, or a group. By default all. */
  readonly within?: string | undefined;
  /** Changes nothing, whatever the configuration says. */
  readonly dryRun: boolean;
  readonly version: string;
  /** Prints a line for the user on stderr. */
  readonly notify: (line: string) => void;
}

/** A run that was started manually. */
export interface ManualRun extends Pick<RunEnded, 'state' | 'seconds' | 'summary' | 'error'> {
  readonly job: string;
  readonly run: string;
  readonly dryRun: boolean;
}

/**
 * Runs a job now, in each of its contexts, under the same claim as its ticks. Signals ask it to end. Throws
 * `not_found`, `configuration`, `already_running` while it is running, and as the ledger.
 */
export async function runManually(options: RunManuallyOptions): Promise<readonly ManualRun[]> {
  const { runtime, name, dryRun, version, notify } = options;
  const { environment } = runtime;
  const configuration = dryRun ? asDryRun(runtime.configuration) : runtime.configuration;
  const store = await openLedger(configuration, environment);
  const recipients = new Recipients(configuration.scheduler, {
    environment,
    onResult: ({ to, result }) => result === 'abandoned' && notify(`Could not send a notice to ${to}.`),
  });
  const interruption = catchSignals(notify);
  try {
    const log = await runtime.auditLog();
    const files = jobFiles({ environment, version });
    const work = {
      configuration,
      environment,
      clock: machineClock,
      log,
      files,
      notifiers: recipients.notifiers,
    };
    const ran: ManualRun[] = [];
    for (const job of selectJobs(scheduledJobs(work), options)) {
      if (interruption.signal.aborted) break;
      const settings = configuration.jobs[name.split('@', 1)[0] ?? ''];
      const isLive = runtime.configuration.jobs[name.split('@', 1)[0] ?? '']?.dryRun === false;
      const event = await runNow(job, {
        store,
        clock: machineClock,
        lease: configuration.scheduler.lease * 1000,
        holder: `${hostname()}:${process.pid}`,
        interrupt: interruption.signal,
        listener: () => undefined,
        keepsOpenTick: dryRun && isLive,
      });
      for (const notice of noticesOf(event, { settings, at: machineClock.now() })) recipients.tell(notice);
      ran.push(ranJob(event));
    }
    return ran;
  } finally {
    await recipients.close();
    interruption.release();
    await store.close();
  }
}

/** A job without contexts, such as one on the audit log, is in none. */
function isWithin({ name }: ScheduledJob, within: string, { configuration }: Runtime): boolean {
  const context = /@(.*)$/.exec(name)?.[1];
  const contexts = expandGroups(
    configuration,
    within.split(',').map((each) => each.trim()),
  );
  return context === undefined || contexts.includes(context);
}

function ranJob({ job: { name, dryRun }, claim, state, seconds, summary, error }: RunEnded): ManualRun {
  return { job: name, run: claim.run, dryRun, state, seconds, summary, error };
}

function asDryRun(configuration: Runtime['configuration']): Runtime['configuration'] {
  const jobs = Object.entries(configuration.jobs).map(([name, job]) => [name, { ...job, dryRun: true }]);
  return withSettings(configuration, { jobs: Object.fromEntries(jobs) as typeof configuration.jobs });
}

function selectJobs(jobs: readonly ScheduledJob[], { name, within, runtime }: RunManuallyOptions) {
  const named = jobs.filter((job) => matchesJob(job.name, name));
  const found = named.filter((job) => within === undefined || isWithin(job, within, runtime));
  if (found.length > 0) return found;
  if (named.length > 0) {
    throw new TokenctlError('not_found', `The job "${name}" does not run in the context "${within}"`, {
      hint: `It runs as: ${named.map((job) => job.name).join(', ')}.`,
    });
  }
  const known = jobs.map((job) => job.name);
  const bare = known.map((each) => each.replace(/@.*$/, ''));
  const near = nearestName(name, [...new Set([...bare, ...known])]);
  throw new TokenctlError('not_found', `No job named "${name}"`, {
    hint:
      near !== undefined
        ? `Did you mean "${near}"?`
        : known.length === 0
          ? 'Add jobs to the configuration.'
          : `Use one of: ${known.join(', ')}.`,
  });
}
