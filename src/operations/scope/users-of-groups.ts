import { TokenctlError } from '@tokenctl/common/errors.ts';
import { limitText } from '../../domain/claims.ts';
import { fullName, type Group, type GroupKind } from '../../domain/groups.ts';
import { nearestName } from '../../domain/nearest-name.ts';
import { matchesAny } from '../../domain/policy/subject.ts';
import { exactName, formatAlternatives, type NamePattern } from '../../domain/selector.ts';
import type { Target } from '../ports/target.ts';
import { fullViewHint } from './visibility.ts';

export interface UsersOfGroups {
  readonly names: ReadonlySet<string>;
  /** The groups, as a phrase. */
  readonly words: string;
}

/**
 * Reads the members and administrators of these organizations or teams. A team may be named with its
 * organization: `Eng/Ops`.
 * @throws TokenctlError `not_found` for a name or pattern without a match, with the nearest name;
 * `permission_refused` instead if the account does not see everything; `usage` for a name that several teams
 * have.
 */
export async function usersOfGroups(
  target: Target,
  kind: GroupKind,
  patterns: readonly NamePattern[],
): Promise<UsersOfGroups> {
  const all = await target.users.groups(kind);
  const meant = new Set<Group>();
  for (const { pattern } of patterns) {
    for (const group of await matching(target, { kind, all, pattern })) meant.add(group);
  }
  const names = new Set<string>();
  for (const group of meant)
    for (const { username } of await target.users.ofGroup(group)) names.add(username);
  const which = formatAlternatives([...meant].map(fullName));
  return { names, words: `members and administrators of the ${kind}${meant.size === 1 ? '' : 's'} ${which}` };
}

interface Wanted {
  readonly kind: GroupKind;
  readonly all: readonly Group[];
  readonly pattern: string;
}

async function matching(target: Target, wanted: Wanted): Promise<readonly Group[]> {
  const { kind, all, pattern } = wanted;
  const exact = exactName(pattern);
  // A pattern without a slash matches only the team's own name: `E*` does not mean all teams of `Eng`.
  const namesOf = (group: Group) =>
    exact !== null || pattern.includes('/') ? [group.name, fullName(group)] : [group.name];
  const found = all.filter((group) =>
    namesOf(group).some((name) => (exact === null ? matchesAny(name, [pattern]) : name === exact)),
  );
  if (found.length === 0) throw await noGroup(target, wanted, exact);
  if (exact !== null && found.length > 1) {
    throw new TokenctlError('usage', `Several ${kind}s are named "${exact}"`, {
      hint: `Specify it with its organization: ${formatAlternatives(found.map((group) => `"${fullName(group)}"`))}.`,
      details: { kind, names: found.map(fullName) },
    });
  }
  return found;
}

async function noGroup(target: Target, { kind, all, pattern }: Wanted, exact: string | null) {
  const description = await target.describe();
  const limit = limitText(description, 'users');
  const name = exact ?? pattern;
  const details = { kind, names: [pattern] };
  if (limit !== null) {
    const { username } = description.identity;
    return new TokenctlError(
      'permission_refused',
      `No ${kind} ${exact === null ? 'that matches' : 'named'} "${name}" is visible to ${username}`,
      { hint: `Check the spelling. ${limit}. ${fullViewHint(description)}`, details },
    );
  }
  const nearest = exact === null ? undefined : nearestName(exact, all.map(fullName));
  return new TokenctlError('not_found', `No ${kind} ${exact === null ? 'matches' : 'named'} "${name}"`, {
    hint:
      nearest === undefined
        ? 'Check the spelling, including upper and lower case. * stands for any characters, ? for one.'
        : `Did you mean "${nearest}"?`,
    details,
  });
}
