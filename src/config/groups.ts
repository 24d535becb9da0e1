import { type Document, isScalar, isSeq } from 'yaml';
import { z } from 'zod';
import { TokenctlError } from '../domain/errors.ts';
import { nearestName } from './nearest-name.ts';
import { contextNamePattern } from './schema.ts';

/** The names of the contexts that variables and `--database-file` make. */
const RESERVED: readonly string[] = ['environment', 'database'];

/** Groups of contexts: for each group the names of its contexts, in the order in which they are worked in. */
export const groupsSchema = z.record(
  z
    .string()
    .regex(contextNamePattern, 'cannot name a group: use letters, digits, dots and dashes')
    .refine((name) => !RESERVED.includes(name), 'cannot name a group: a context is made by that name'),
  z.array(z.string().min(1)).min(1, 'must have at least one context'),
);

/** What groups are checked against. */
interface Grouped {
  readonly contexts: Readonly<Record<string, unknown>>;
  readonly groups: Readonly<Record<string, readonly string[]>>;
}

/**
 * What is wrong with groups, given the contexts: a name that is a context's as well would mean two things, and
 * a context that does not exist would be left out in silence.
 */
export function invalidGroups({ contexts, groups }: Grouped): z.core.$ZodIssueCustom[] {
  const issue = (path: PropertyKey[], message: string): z.core.$ZodIssueCustom => ({
    code: 'custom',
    input: undefined,
    path: ['groups', ...path],
    message,
  });
  return Object.entries(groups).flatMap(([group, members]) => [
    ...(Object.hasOwn(contexts, group) ? [issue([group], 'is the name of a context as well')] : []),
    ...members.flatMap((name, index) =>
      Object.hasOwn(contexts, name) ? [] : [issue([group, index], unknown(name, Object.keys(contexts)))],
    ),
  ]);
}

function unknown(name: string, known: readonly string[]): string {
  const near = nearestName(name, known);
  return `there is no context "${name}"${near === undefined ? '' : `; did you mean "${near}"?`}`;
}

/** Puts a context into a group of the configuration file, which is made where there is none. */
export function addToGroup(
  document: Document,
  { group, name }: { readonly group: string; readonly name: string },
): void {
  const members = document.getIn(['groups', group]);
  if (!isSeq(members)) document.setIn(['groups', group], document.createNode([name]));
  else if (!members.items.some((item) => isScalar(item) && item.value === name)) members.add(name);
}

/**
 * Makes sure that a context can be put into these groups.
 *
 * @throws TokenctlError `usage` where one is a context's name, or cannot be a name
 */
export function requireGroupNames(
  { contexts }: Pick<Grouped, 'contexts'>,
  { context, groups }: { readonly context: string; readonly groups: readonly string[] },
): void {
  for (const name of groups) {
    if (name === context || Object.hasOwn(contexts, name)) {
      throw new TokenctlError('usage', `"${name}" is the name of a context, and cannot be a group's as well`);
    }
    if (!contextNamePattern.test(name) || RESERVED.includes(name)) {
      throw new TokenctlError('usage', `"${name}" cannot name a group: use letters, digits, dots and dashes`);
    }
  }
}
