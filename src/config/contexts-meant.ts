import { TokenctlError } from '../domain/errors.ts';
import type { Configuration } from './configuration.ts';
import { contextOf, meansSeveral } from './contexts.ts';

/**
 * The names of the contexts to work in, each once, where several are meant: by a list (`east,west`), by a group, or
 * all of them. Null where it is one, named by itself or chosen as the current one.
 *
 * @throws TokenctlError `not_found` for a name that is no context's and no group's, `usage` for a name that is empty,
 * `configuration` where all are meant and there is none.
 */
export function contextsMeant(configuration: Configuration, all: boolean): readonly string[] | null {
  const { contexts, currentContext } = configuration;
  if (all) {
    const names = Object.keys(contexts);
    if (names.length > 0) return names;
    throw new TokenctlError('configuration', 'There are no contexts to work in', {
      hint: 'Make one with `tokenctl context add NAME --url URL`.',
    });
  }
  if (currentContext === undefined || !meansSeveral(configuration, currentContext)) return null;
  const parts = currentContext.split(',').map((part) => part.trim());
  if (parts.includes('')) {
    throw new TokenctlError('usage', `"${currentContext}" is a list of contexts with an empty name in it`);
  }
  return withoutGroups(configuration, parts).map((name) => contextOf(configuration, name).name);
}

/** The names with those of groups replaced by their contexts', each once; whether a context exists is not checked. */
export function withoutGroups({ groups }: Configuration, names: readonly string[]): readonly string[] {
  const contexts = names.flatMap(
    (name) => (Object.hasOwn(groups, name) ? groups[name] : undefined) ?? [name],
  );
  return [...new Set(contexts)];
}
