import { TokenctlError } from '@tokenctl/common/errors.ts';
import { limitText } from '../../domain/claims.ts';
import { nearestName } from '../../domain/nearest-name.ts';
import { matchesAny } from '../../domain/policy/subject.ts';
import {
  describeSelector,
  exactName,
  formatAlternatives,
  type NamePattern,
  type Selection,
  type Selector,
  type SelectorWords,
  validateSelector,
  type Whose,
} from '../../domain/selector.ts';
import type { Target } from '../ports/target.ts';
import { type UsersOfGroups, usersOfGroups } from './users-of-groups.ts';
import { fullViewHint } from './visibility.ts';

export interface ResolvedSelection {
  readonly selector: Selector;
  /** The selection in words, as one phrase: patterns with their matches. */
  readonly words: string;
}

/**
 * Finds the users and applications that a selection means at a target: patterns become the names that match
 * them now, so that the plan is exact. Negations stay patterns, which also match token owners who are not
 * listed as users.
 * @throws TokenctlError as {@link usersOfGroups}; `usage` for an invalid selection, and for one that excludes
 * everything it names; `not_found` for a name or pattern without a match, even a negated one: it is probably
 * a typing error; `permission_refused` as {@link resolveNames}.
 */
export async function resolveSelection(target: Target, selection: Selection): Promise<ResolvedSelection> {
  validateSelector(selection);
  const { users, applications, notUsers, notApplications, ownerInactive, ...others } = selection;
  const { organizations, teams, ...criteria } = others;
  const userNames = names(target, 'user', () => allNames(target, 'user'));
  const applicationNames = names(target, 'application', () => allNames(target, 'application'));
  await userNames.require(notUsers);
  await applicationNames.require(notApplications);
  const named = ownerInactive
    ? await inactiveNames(target, { users, notUsers, names: userNames })
    : users && (await userNames.matching(users, notUsers));
  const groups = [
    ...(organizations === undefined ? [] : [await usersOfGroups(target, 'organization', organizations)]),
    ...(teams === undefined ? [] : [await usersOfGroups(target, 'team', teams)]),
  ];
  const meantUsers = amongGroups(named, groups, notUsers);
  const meantApplications = applications && (await applicationNames.matching(applications, notApplications));
  if (meantUsers?.names.length === 0)
    return { selector: { none: true }, words: `tokens of ${meantUsers.words}` };
  const selector: Selector = {
    ...criteria,
    ...(meantUsers ? { users: meantUsers.names } : notUsers && { notUsers }),
    ...(meantApplications
      ? { applications: meantApplications.names }
      : notApplications && { notApplications }),
  };
  const words: SelectorWords = { users: meantUsers?.words, applications: meantApplications?.words };
  return { selector, words: describeSelector(selector, words) };
}

/** The names that patterns match, and their description. */
interface MeantNames {
  readonly names: readonly string[];
  readonly words: string;
}

/** The users that each selection by group also means; all members if no users are named. */
function amongGroups(
  named: MeantNames | undefined,
  groups: readonly UsersOfGroups[],
  notUsers: readonly string[] = [],
): MeantNames | undefined {
  const [first] = groups;
  if (first === undefined) return named;
  const kept = (named?.names ?? [...first.names]).filter(
    (name) => groups.every(({ names }) => names.has(name)) && !matchesAny(name, notUsers),
  );
  const words = [...(named === undefined ? [] : [named.words]), ...groups.map((group) => group.words)];
  const except =
    named !== undefined || notUsers.length === 0 ? '' : ` without ${formatAlternatives(notUsers)}`;
  const counted = `${kept.length} user${kept.length === 1 ? '' : 's'}`;
  const which = kept.length === 0 ? 'no user' : `${counted}: ${formatAlternatives(kept)}`;
  return { names: kept, words: `${words.join(', among ')}${except} (${which})` };
}

/** Looks up names of one kind; reads all names of the target at most once. */
function names(target: Target, kind: 'user' | 'application', read: () => Promise<readonly string[]>) {
  let reading: Promise<readonly string[]> | undefined;
  const all = () => {
    reading ??= read();
    return reading;
  };
  const requireExact = async (patterns: readonly string[]) => {
    const exact = patterns.map(exactName).filter((name) => name !== null);
    if (exact.length > 0) await resolveNames(target, { [`${kind}s`]: exact });
    return exact;
  };
  const matchingPattern = async (pattern: string) => {
    const found = (await all()).filter((name) => matchesAny(name, [pattern]));
    if (found.length === 0) throw await noMatch(target, kind, pattern);
    return found;
  };
  const withWildcard = (patterns: readonly string[]) =>
    patterns.filter((pattern) => exactName(pattern) === null);
  return {
    /** Requires each pattern to match something. */
    async require(patterns: readonly string[] = []): Promise<void> {
      await requireExact(patterns);
      for (const pattern of withWildcard(patterns)) await matchingPattern(pattern);
    },
    async matching(wanted: readonly NamePattern[], not: readonly string[] = []): Promise<MeantNames> {
      const patterns = wanted.map(({ pattern }) => pattern);
      const wild = withWildcard(patterns);
      const found = new Set(await requireExact(patterns));
      for (const pattern of wild) for (const name of await matchingPattern(pattern)) found.add(name);
      const kept = [...found].filter((name) => !matchesAny(name, not));
      if (kept.length === 0) {
        throw new TokenctlError('usage', `--not-${kind} excludes every selected ${kind}`);
      }
      return { names: kept, words: wordsOf({ kind, wanted: patterns, not, kept }) };
    },
  };
}

/** The deactivated users among the named ones. An empty result is not an error. */
async function inactiveNames(
  target: Target,
  options: {
    readonly users: readonly NamePattern[] | undefined;
    readonly notUsers: readonly string[] | undefined;
    readonly names: ReturnType<typeof names>;
  },
): Promise<MeantNames> {
  const { users, notUsers = [] } = options;
  const among = users && new Set((await options.names.matching(users, notUsers)).names);
  const found: string[] = [];
  for await (const { username } of target.users.list({ inactive: true })) {
    if ((among?.has(username) ?? true) && !matchesAny(username, notUsers)) found.push(username);
  }
  const which = found.length === 0 ? '' : ` (${formatAlternatives(found)})`;
  return { names: found, words: `deactivated users${which}` };
}

function wordsOf(options: {
  readonly kind: 'user' | 'application';
  readonly wanted: readonly string[];
  readonly not: readonly string[];
  readonly kept: readonly string[];
}): string {
  const { kind, wanted, not, kept } = options;
  if (not.length === 0 && wanted.every((pattern) => exactName(pattern) !== null))
    return formatAlternatives(kept);
  const except = not.length === 0 ? '' : ` without ${formatAlternatives(not)}`;
  const counted = `${kept.length} ${kind}${kept.length === 1 ? '' : 's'}`;
  return `${formatAlternatives(wanted)}${except} (${counted}: ${formatAlternatives(kept)})`;
}

async function noMatch(target: Target, kind: 'user' | 'application', pattern: string) {
  const description = await target.describe();
  const limit = limitText(description, `${kind}s`);
  const details = { kind, names: [pattern] };
  if (limit === null) {
    return new TokenctlError('not_found', `No ${kind} matches "${pattern}"`, {
      hint: 'Check the pattern. * stands for any characters, ? for one.',
      details,
    });
  }
  return new TokenctlError(
    'permission_refused',
    `No ${kind} visible to ${description.identity.username} matches "${pattern}"`,
    { hint: `${limit}. ${fullViewHint(description)}`, details },
  );
}

async function allNames(target: Target, kind: 'user' | 'application'): Promise<readonly string[]> {
  if (kind === 'application') return (await target.applications.list()).map(({ name }) => name);
  return await Array.fromAsync(target.users.list(), ({ username }) => username);
}

/**
 * Requires the named users and applications to exist: a typing error must not look like "this user has no
 * tokens".
 * @returns The users' ids, by name as given; null if no users are named.
 * @throws TokenctlError `not_found` with the missing and the nearest name; `permission_refused` for an
 * account that does not see everything, because it cannot distinguish missing from hidden.
 */
export async function resolveNames(
  target: Target,
  selector: Whose,
): Promise<{ readonly userIds: ReadonlyMap<string, number> | null }> {
  const { users, userIds: known } = selector;
  if (known !== undefined && users !== undefined) {
    return { userIds: new Map(users.map((name, place) => [name, known[place] ?? 0])) };
  }
  const userIds = users === undefined ? null : await idsOf(target, users);
  if (selector.applications !== undefined && selector.applicationIds === undefined) {
    const found = await target.applications.list(selector.applications);
    await refuseMissing(target, 'application', {
      names: selector.applications,
      found: new Set(found.map(({ name }) => name)),
    });
  }
  return { userIds };
}

/**
 * The ids of users at another address of the same controller, if some are known by name. Throws as {@link
 * resolveNames}; `usage` if a user has another id there: it is another controller.
 */
export async function requireSameUsers(
  target: Target,
  names: readonly string[],
  known: Readonly<Record<string, number>>,
): Promise<number[]> {
  const ids = await idsOf(target, names);
  for (const [name, id] of ids) {
    if ((known[name] ?? id) !== id) {
      throw new TokenctlError('usage', `"${name}" is the user ${id} there and ${known[name]} here`);
    }
  }
  return [...ids.values()];
}

/**
 * Requires tokens named by id to have existed: the activity stream must at least know an unlisted id as that
 * of a deleted token.
 * @param ids Those that the target does not list.
 * @throws TokenctlError `not_found`; `permission_refused` for an account that does not see everything.
 */
export async function resolveTokenIds(target: Target, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return;
  const description = await target.describe();
  const limit = limitText(description);
  if (limit === null && (await areKnown(target, ids))) return;
  const named = namesText(ids);
  const noun = `token with ID ${named}`;
  if (limit !== null) {
    throw new TokenctlError(
      'permission_refused',
      `No ${noun} is visible to ${description.identity.username}`,
      { hint: `${limit}. ${fullViewHint(description)}`, details: { kind: 'token', ids } },
    );
  }
  throw new TokenctlError('not_found', `No ${noun}`, {
    hint: 'Check the ID with `tokenctl tokens list`.',
    details: { kind: 'token', ids },
  });
}

/** The maximum number of ids to look up in the activity stream, which is slow. */
const MAX_LOOKED_UP = 200;

/** Whether the activity stream contains each of the first of these tokens; true if it cannot be read. */
async function areKnown(target: Target, ids: readonly number[]): Promise<boolean> {
  const unknown = new Set(ids.slice(0, MAX_LOOKED_UP));
  // A token that other criteria exclude exists.
  for await (const { id } of target.tokens({ ids: [...unknown] })) unknown.delete(id);
  if (unknown.size === 0) return true;
  try {
    for await (const { changes } of target.activity.list({ tokenIds: [...unknown] })) {
      if (typeof changes['id'] === 'number') unknown.delete(changes['id']);
      if (unknown.size === 0) return true;
    }
    return false;
  } catch (error) {
    if (error instanceof TokenctlError) return true;
    throw error;
  }
}

async function idsOf(target: Target, names: readonly string[]): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for await (const { id, username } of target.users.list({ names })) found.set(username, id);
  await refuseMissing(target, 'user', { names, found });
  return found;
}

async function refuseMissing(
  target: Target,
  kind: 'user' | 'application',
  { names, found }: { names: readonly string[]; found: Pick<Set<string>, 'has'> },
): Promise<void> {
  const missing = names.filter((name) => !found.has(name));
  const [first] = missing;
  if (first === undefined) return;
  const description = await target.describe();
  const details = { kind, names: missing };
  const what = `No ${kind} named ${namesText(missing.map((name) => `"${name}"`))}`;
  const limit = limitText(description, `${kind}s`);
  if (limit !== null) {
    throw new TokenctlError('permission_refused', `${what} is visible to ${description.identity.username}`, {
      hint: `Check the spelling. ${limit}. ${fullViewHint(description)}`,
      details,
    });
  }
  const nearest = nearestName(first, await namesOf(target, kind));
  throw new TokenctlError('not_found', what, {
    hint:
      nearest === undefined
        ? `Check the spelling, including upper and lower case. Deleting ${kind === 'application' ? 'an' : 'a'} ${kind} also deletes its tokens.`
        : `Did you mean "${nearest}"?`,
    details,
  });
}

/** The maximum number of names to compare with a misspelled one: ten requests over REST. */
const MAX_COMPARED = 2000;

/** The first names of users or applications; empty if the target does not show them. */
async function namesOf(target: Target, kind: 'user' | 'application'): Promise<string[]> {
  const names: string[] = [];
  try {
    if (kind === 'application') return (await target.applications.list()).map(({ name }) => name);
    for await (const { username } of target.users.list()) {
      if (names.push(username) === MAX_COMPARED) break;
    }
  } catch (error) {
    // The missing name is the error to report.
    if (!(error instanceof TokenctlError)) throw error;
  }
  return names;
}

function namesText(values: readonly (string | number)[]): string {
  return values.length < 3 ? values.join(' or ') : `${values.slice(0, -1).join(', ')} or ${values.at(-1)}`;
}
