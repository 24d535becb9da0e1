import type { Configuration } from '../../config/configuration.ts';
import { checkedJobs } from './scheduled-jobs.ts';

/** A job of the configuration that looks for incidents to lift. */
export interface LiftJob {
  /** Its name in the configuration and the ledger: `lift@production`. */
  readonly name: string;
  /** The first time that it is due at or after the end of the incident. */
  readonly at: Date;
  /** A dry run lifts nothing. */
  readonly dryRun: boolean;
}

/**
 * The job that lifts an incident of a context when its end has come; one that is no dry run if there is any, the one that is due
 * first. Whether a scheduler runs it is not known.
 *
 * @param context As the incident records it; `NAME/gateway` is a component of the context NAME, whose jobs cover it.
 * @returns Null if no job of the configuration covers it.
 */
export function liftJobOf(
  configuration: Configuration,
  { context, until }: { readonly context: string; readonly until: Date },
): LiftJob | null {
  const [base] = context.split('/');
  const found = checkedJobs(configuration).flatMap(({ name, settings, schedule, context: place }) => {
    if (settings.job !== 'incident-lift' || schedule === null) return [];
    const where = place === '' ? configuration.currentContext : place;
    if (where !== context && where !== base) return [];
    return [{ name, at: schedule.next(new Date(until.getTime() - 1)), dryRun: settings.dryRun }];
  });
  const [first = null] = found.sort(
    (one, other) => Number(one.dryRun) - Number(other.dryRun) || one.at.getTime() - other.at.getTime(),
  );
  return first;
}
