import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Configuration } from '../../config/configuration.ts';
import type { JobSettings } from '../../config/jobs.ts';
import { storeFor, storeSettings } from '../../config/stores.ts';

/** The consumers of a job of the kind `rotation`, by name; none of another kind. */
function consumersOf({ job, parameters }: JobSettings): Readonly<Record<string, { readonly store: string }>> {
  if (job !== 'rotation') return {};
  // As the kind of the job has checked.
  return (parameters as { readonly consumers: Readonly<Record<string, { readonly store: string }>> })
    .consumers;
}

/**
 * Checks the stores of a job's consumers: each has to be there, and no two consumers may share a name or a
 * place, since each would revoke or overwrite the tokens of the other.
 * @param contexts In how many contexts the job runs.
 * @throws TokenctlError `not_found`, `configuration`
 */
export function requireOwnPlaces(
  settings: JobSettings,
  { jobs, stores }: Pick<Configuration, 'jobs' | 'stores'>,
  contexts: number,
): void {
  const all = Object.entries(jobs).flatMap(([job, each]) =>
    Object.entries(consumersOf(each)).map(([name, { store }]) => ({
      ...{ job, name, store, isOwn: each === settings },
      place: JSON.stringify(storeFor(storeSettings(store, stores), name)),
    })),
  );
  const own = all.filter(({ isOwn }) => isOwn);
  const wrong = (message: string, hint?: string) => new TokenctlError('configuration', message, { hint });
  if (own.length > 0 && contexts > 1) {
    throw wrong(
      'A rotation job runs in one context because each consumer has one place',
      'Create a separate job for each context.',
    );
  }
  for (const consumer of own) {
    const others = all.filter((each) => each !== consumer);
    const same = others.find(({ name }) => name === consumer.name);
    if (same !== undefined) throw wrong(`The consumer ${consumer.name} is also in the job ${same.job}`);
    const sharing = others.find(({ place }) => place === consumer.place);
    if (sharing !== undefined) {
      throw wrong(
        `The consumers ${consumer.name} and ${sharing.name} use the same place in the store ${consumer.store}`,
        "Use {consumer} in the store's path. It is replaced by the consumer's name.",
      );
    }
  }
}
