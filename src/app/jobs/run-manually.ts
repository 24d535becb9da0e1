import { hostname } from 'node:os';
import { TokenctlError } from '../../domain/errors.ts';
import type { RunSummary } from '../../operations/ports/scheduler.ts';
import type { RunEnded } from '../../scheduler/events.ts';
import { runNow } from '../../scheduler/run-now.ts';
import type { ScheduledJob } from '../../scheduler/scheduled-job.ts';
import type { Runtime } from '../runtime.ts';
import { holdSignals } from '../signals.ts';
import { noticesOf } from './event-notices.ts';
import { belongs } from './inspect.ts';
import { jobFiles } from './job-files.ts';
import { openLedger } from './ledger.ts';
import { Recipients } from './recipients.ts';
import { scheduledJobs } from './scheduled-jobs.ts';
import { machineClock } from './scheduler-clock.ts';

/** Which job is run, and how. */
export interface RunByHandOptions {
  readonly runtime: Runtime;
  /** A name of the configuration, for all of its contexts, or that with `@` and one of them. */
  readonly name: string;
  /** Changes nothing, whatever the configuration says. */
  readonly dryRun: boolean;
  readonly version: string;
  /** Tells the user something that is no result: a line on stderr. */
  readonly notify: (line: string) => void;
}

/** A run that was made by hand. */
export interface RanJob {
  readonly job: string;
  readonly run: string;
  readonly dryRun: boolean;
  readonly state: RunEnded['state'];
  readonly seconds: number;
  readonly summary: RunSummary;
  /** What the job threw, where it did. */
  readonly error: unknown;
}

/**
 * Runs a job now, in each of its contexts, under the claim that its ticks take as well. Signals ask it to end.
 *
 * @throws TokenctlError `not_found`, `configuration`, `busy` where it is being run, and as the ledger.
 */
export async function runByHand(options: RunByHandOptions): Promise<readonly RanJob[]> {
  const { runtime, name, dryRun, version, notify } = options;
  const { environment } = runtime;
  const configuration = dryRun ? rehearsed(runtime.configuration) : runtime.configuration;
  const claims = await openLedger(configuration, environment);
  const recipients = new Recipients(configuration.scheduler, {
    environment,
    onResult: ({ to, result }) => result === 'given_up' && notify(`${to} did not take a notice.`),
  });
  const interruption = holdSignals(notify);
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
    const ran: RanJob[] = [];
    for (const job of meant(scheduledJobs(work), name)) {
      if (interruption.signal.aborted) break;
      const event = await runNow(job, {
        claims,
        clock: machineClock,
        lease: configuration.scheduler.lease * 1000,
        holder: `${hostname()}:${process.pid}`,
        interrupt: interruption.signal,
        listener: () => undefined,
      });
      const settings = configuration.jobs[name.split('@', 1)[0] ?? ''];
      for (const notice of noticesOf(event, { settings, at: machineClock.now() })) recipients.tell(notice);
      ran.push(ranJob(event));
    }
    return ran;
  } finally {
    await recipients.close();
    interruption.release();
    await claims.close();
  }
}

function ranJob({ job: { name, dryRun }, claim, state, seconds, summary, error }: RunEnded): RanJob {
  return { job: name, run: claim.run, dryRun, state, seconds, summary, error };
}

function rehearsed(configuration: Runtime['configuration']): Runtime['configuration'] {
  const jobs = Object.entries(configuration.jobs).map(([name, job]) => [name, { ...job, dryRun: true }]);
  return { ...configuration, jobs: Object.fromEntries(jobs) as typeof configuration.jobs };
}

function meant(jobs: readonly ScheduledJob[], name: string): readonly ScheduledJob[] {
  const found = jobs.filter((job) => belongs(job.name, name));
  if (found.length > 0) return found;
  const known = jobs.map((job) => job.name);
  throw new TokenctlError('not_found', `There is no job "${name}"`, {
    hint: known.length === 0 ? 'The configuration has none.' : `There are: ${known.join(', ')}.`,
  });
}
