import { type Configuration, withSettings } from '../../config/configuration.ts';
import { checkedJobs } from './scheduled-jobs.ts';

/** A configured job that ends things on time: it lifts incidents, or revokes leases. */
export interface EndingJob {
  /** Its name in the configuration and the ledger: `lift@production`. */
  readonly name: string;
  /** Its first run at or after the end. */
  readonly at: Date;
  /** A dry run ends nothing. */
  readonly dryRun: boolean;
}

/**
 * The job that ends something in a context on time: a real one rather than a dry run, and the one that runs
 * first. `NAME/gateway` is a component of the context NAME, whose jobs cover it. Null if no configured job
 * covers it. It is unknown whether a scheduler runs it.
 */
export function endingJobOf(
  configuration: Configuration,
  options: { kind: 'incident-lift' | 'lease-end'; context: string; until: Date },
): EndingJob | null {
  const { kind, context, until } = options;
  const [base] = context.split('/');
  // A scheduler is not started with this command's --context.
  const { usualContext } = configuration;
  const scheduled = withSettings(configuration, { currentContext: usualContext });
  const found = checkedJobs(scheduled).flatMap(({ name, settings, schedule, context: place }) => {
    if (settings.job !== kind || schedule === null) return [];
    const where = place === '' ? usualContext : place;
    if (where !== context && where !== base) return [];
    return [{ name, at: schedule.next(new Date(until.getTime() - 1)), dryRun: settings.dryRun }];
  });
  const [first = null] = found.sort(
    (one, other) => Number(one.dryRun) - Number(other.dryRun) || one.at.getTime() - other.at.getTime(),
  );
  return first;
}
