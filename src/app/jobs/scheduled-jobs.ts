import type { Configuration } from '../../config/configuration.ts';
import { contextOf, expandGroups } from '../../config/contexts.ts';
import type { JobSettings } from '../../config/jobs.ts';
import { policyFrom } from '../../config/policy.ts';
import { TokenctlError } from '../../domain/errors.ts';
import { requireUsable } from '../../operations/token-audit/audit-tokens.ts';
import { Schedule } from '../../scheduler/schedule.ts';
import type { ScheduledJob } from '../../scheduler/scheduled-job.ts';
import { requireOwnerNotices } from '../owner-notices.ts';
import { type ConfiguredJob, jobKinds, runJob, type WorkOptions } from './run-job.ts';

/** A job as `jobs list` and `jobs check` know it. */
export interface CheckedJob extends ConfiguredJob {
  /** Null for an invalid job. */
  readonly schedule: Schedule | null;
  readonly expression: string;
  readonly problem: TokenctlError | null;
}

/** Every job of the configuration in each of its contexts, checked as far as that goes without connecting. */
export function checkedJobs(configuration: Configuration): readonly CheckedJob[] {
  return Object.entries(configuration.jobs).flatMap(([name, settings]) =>
    contextsOf(settings, configuration).map((context) => {
      const job = { name: context === null ? name : `${name}@${context}`, settings, context };
      const expression = settings.schedule ?? jobKinds[settings.job].schedule;
      try {
        return { ...job, expression, schedule: checked(job, expression, configuration), problem: null };
      } catch (error) {
        if (!(error instanceof TokenctlError)) throw error;
        return { ...job, expression, schedule: null, problem: error };
      }
    }),
  );
}

/**
 * The jobs of the configuration, ready to be run.
 *
 * @throws TokenctlError `configuration` listing every problem.
 */
export function scheduledJobs(options: WorkOptions): readonly ScheduledJob[] {
  const jobs = checkedJobs(options.configuration);
  const problems = jobs.flatMap(({ name, problem }) =>
    problem === null ? [] : [`jobs: ${name}: ${problem.message}`],
  );
  if (problems.length > 0) {
    throw new TokenctlError('configuration', problems.join('\n'), {
      hint: 'Check them with `tokenctl jobs check`.',
    });
  }
  return jobs.flatMap((job) =>
    job.schedule === null ? [] : [scheduled({ ...job, schedule: job.schedule }, options)],
  );
}

function scheduled(job: CheckedJob & { readonly schedule: Schedule }, options: WorkOptions): ScheduledJob {
  const { name, settings, schedule, expression, context } = job;
  const { timeout, jitter, missed, onFailure, dryRun, timeZone } = settings;
  const { contexts, policy, ownerNotices } = options.configuration;
  return {
    name,
    schedule,
    scheduleText: `${expression} ${timeZone}`,
    work: (run) => runJob(job, run, options),
    timeout,
    jitter,
    missed,
    onFailure,
    dryRun,
    fingerprint: JSON.stringify([
      ...[settings, expression, context === null ? null : contexts[context], policy],
      ...(settings.job === 'owner-notices' ? [ownerNotices] : []),
    ]),
  };
}

function contextsOf(settings: JobSettings, configuration: Configuration): readonly (string | null)[] {
  if (settings.job === 'log-checkpoint') return [null];
  return expandGroups(configuration, settings.contexts ?? [configuration.currentContext ?? '']);
}

function checked(
  { settings, context }: ConfiguredJob,
  expression: string,
  configuration: Configuration,
): Schedule {
  if (context !== null) contextOf(configuration, context === '' ? undefined : context);
  const schedule = new Schedule({ expression, timeZone: settings.timeZone });
  requireSmallJitter(schedule, settings.jitter);
  if (settings.job === 'revocation-sweep') {
    const policy = policyFrom(settings.parameters.policy ?? configuration.policy);
    for (const rule of settings.parameters.rules) requireUsable(rule, policy);
  }
  if (settings.job === 'owner-notices') requireOwnerNotices(configuration.ownerNotices);
  if (settings.job === 'expiry-notices') requireRecipients(settings.parameters.to, configuration);
  return schedule;
}

/** A tick delayed past the next one would count as missed. */
function requireSmallJitter(schedule: Schedule, jitter: number): void {
  let at = schedule.next(new Date());
  for (let tick = 0; tick < 50; tick += 1) {
    const next = schedule.next(at);
    const apart = (next.getTime() - at.getTime()) / 1000;
    if (jitter >= apart) {
      throw new TokenctlError(
        'configuration',
        `Jitter of ${jitter} s is too long: ticks are ${apart} s apart`,
      );
    }
    at = next;
  }
}

function requireRecipients(to: readonly string[] | undefined, { scheduler }: Configuration): void {
  const known = Object.keys(scheduler.notify);
  if (known.length === 0) {
    throw new TokenctlError('configuration', 'No recipients configured', {
      hint: 'Add a recipient to scheduler.notify.',
    });
  }
  const unknown = to?.find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw new TokenctlError('configuration', `No recipient "${unknown}" in scheduler.notify`, {
    hint: `Use one of: ${known.join(', ')}.`,
  });
}
