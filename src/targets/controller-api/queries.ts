import { globText } from '../../domain/policy/subject.ts';
import { type Comparison, comparisonsOf, exactName, type Selector } from '../../domain/selector.ts';
import type { UserSelector } from '../../operations/ports/target-parts.ts';
import type { Query } from './api.ts';

/** The maximum length of a list of values in one query, in characters: proxies reject URLs above 4 to 8 KiB. */
const MAX_LIST_LENGTH = 3000;

/**
 * The queries that together return the tokens of a selector, each token once, including those that its
 * negations exclude. There are several only if a list of ids, users or applications is too long for one URL.
 */
export function tokenQueries(selector: Selector): Query[] {
  if (selector.none === true) return [];
  const common = comparisonsOf(selector).flatMap(filtersOf);
  const ids = listFilter('id', selector.ids && ascending(selector.ids));
  const users = idOrName('user', { ids: selector.userIds, field: 'username', names: selector.users });
  const applications = idOrName('application', {
    ids: selector.applicationIds,
    field: 'name',
    names: selector.applications,
  });
  return ids.flatMap((id) =>
    users.flatMap((user) => applications.map((application) => [...common, ...id, ...user, ...application])),
  );
}

const LOOKUPS = { '<': 'lt', '<=': 'lte', '>': 'gt', '>=': 'gte' } as const;

function filtersOf(comparison: Comparison): Query {
  switch (comparison.column) {
    case 'scope':
      return [[{ with: 'scope__contains' }[comparison.is], comparison.to]];
    case 'description':
      return [{ like: descriptionFilter(comparison.to) }[comparison.is]];
    case 'lastUsed':
      return [[{ null: 'last_used__isnull' }[comparison.is], 'true']];
    case 'used': {
      const instant = comparison.to.toISOString();
      const lookup = { '<': 'lt' }[comparison.is];
      return [
        [`created__${lookup}`, instant],
        [`or__last_used__${lookup}`, instant],
        ['or__last_used__isnull', 'true'],
      ];
    }
    default:
      return [[`${comparison.column}__${LOOKUPS[comparison.is]}`, comparison.to.toISOString()]];
  }
}

/** One filter for all patterns, since several queries would return a token twice. */
function descriptionFilter(patterns: readonly string[]): Query[number] {
  const [only = '', ...others] = patterns;
  const exact = others.length === 0 ? exactName(only) : null;
  if (exact !== null) return ['description', exact];
  const source = patterns.map((pattern) =>
    globText(pattern, {
      any: '.*',
      one: '.',
      plain: (text) => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'),
    }),
  );
  return ['description__regex', `^(${source.join('|')})$`];
}

/** The filters for a token's user or application: by ids if they are known, otherwise by names. */
function idOrName(
  what: 'user' | 'application',
  by: { ids: readonly number[] | undefined; field: string; names: readonly string[] | undefined },
): Query[] {
  return by.ids === undefined
    ? listFilter(`${what}__${by.field}`, by.names)
    : listFilter(`${what}__id`, ascending(by.ids));
}

function ascending(ids: readonly number[]): string[] {
  return ids.toSorted((a, b) => a - b).map(String);
}

/** The queries that together return the users of a selector. */
export function userQueries({ ids, names, inactive }: UserSelector): Query[] {
  const active: Query = inactive === true ? [['is_active', 'false']] : [];
  const byId = listFilter('id', ids && ascending(ids));
  return byId.flatMap((id) => listFilter('username', names).map((name) => [...active, ...id, ...name]));
}

/** The queries that together return the applications with these names, or all applications. */
export function applicationQueries(names: readonly string[] | undefined): Query[] {
  return listFilter('name', names);
}

/**
 * The filters for a field with one of these values: `field=value`, or `field__in=a,b` in as many queries as
 * the length requires. One empty filter if there is no list. `__in` splits at commas, so a value with a comma
 * gets its own query.
 */
export function listFilter(field: string, values: readonly string[] | undefined): Query[] {
  if (values === undefined) return [[]];
  const distinct = [...new Set(values)];
  const withComma = distinct.filter((value) => value.includes(','));
  const groups = groupByLength(distinct.filter((value) => !value.includes(',')));
  return [...groups, ...withComma.map((value) => [value])].map((group) => {
    const [first, ...others] = group;
    return others.length === 0 ? [[field, first ?? '']] : [[`${field}__in`, group.join(',')]];
  });
}

function groupByLength(values: readonly string[]): string[][] {
  const groups: string[][] = [];
  let space = 0;
  for (const value of values) {
    const length = encodeURIComponent(value).length + 1;
    space -= length;
    if (space < 0) {
      groups.push([]);
      space = MAX_LIST_LENGTH - length;
    }
    groups.at(-1)?.push(value);
  }
  return groups;
}

/** The limits of a period as filters of a field. */
export function within(
  field: string,
  { since, until }: { since?: Date | undefined; until?: Date | undefined },
): Query {
  return [
    ...(since === undefined ? [] : [[`${field}__gte`, since.toISOString()] as const]),
    ...(until === undefined ? [] : [[`${field}__lt`, until.toISOString()] as const]),
  ];
}

/** Encodes a query, but not its commas. */
export function queryString(query: Query): string {
  return query
    .map(([name, value]) => `${name}=${encodeURIComponent(value).replaceAll('%2C', ',')}`)
    .join('&');
}
