import { type Configuration, withSettings } from '../../config/configuration.ts';
import { checkedJobs } from './scheduled-jobs.ts';

/** A job of the configuration that looks for what is past its end: incidents to lift, leases to end. */
export interface EndingJob {
  /** Its name in the configuration and the ledger: `lift@production`. */
  readonly name: string;
  /** The first time that it is due at or after the end. */
  readonly at: Date;
  /** A dry run ends nothing. */
  readonly dryRun: boolean;
}

/**
 * The job that ends something of a context when its end has come (`NAME/gateway` is a component of the
 * context NAME, whose jobs cover it): one that is no dry run if there is any, the one that is due first. Null
 * if no job of the configuration covers it. Whether a scheduler runs it is not known.
 */
export function endingJobOf(
  configuration: Configuration,
  options: { kind: 'incident-lift' | 'lease-end'; context: string; until: Date },
): EndingJob | null {
  const { kind, context, until } = options;
  const [base] = context.split('/');
  // A scheduler is not started with the --context of this command.
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
