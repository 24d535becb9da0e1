import type { Selector } from '../../domain/selector.ts';
import type { UserSelector } from '../../operations/ports/target-selectors.ts';

/** The longest list of values in one question, in characters: proxies refuse addresses above 4 to 8 KiB. */
const LONGEST_LIST = 3000;

/** A query string's parameters. A name may come twice: both then hold. */
export type Query = readonly (readonly [name: string, value: string])[];

/**
 * The questions that together name what a token selector names, no token twice: one, save where a list
 * of ids, users or applications is too long for one address.
 */
export function tokenQueries(selector: Selector): Query[] {
  const { scope, createdBefore, unusedSince, neverUsed, expiredAt } = selector;
  const common: Query = [
    ...(scope === undefined ? [] : [['scope__contains', scope] as const]),
    ...(createdBefore === undefined ? [] : [['created__lt', createdBefore.toISOString()] as const]),
    ...(expiredAt === undefined ? [] : [['expires__lte', expiredAt.toISOString()] as const]),
    ...(unusedSince === undefined ? [] : unused(unusedSince)),
    ...(neverUsed === true ? [['last_used__isnull', 'true'] as const] : []),
  ];
  const ids = listFilter('id', selector.ids?.toSorted((a, b) => a - b).map(String));
  const users = listFilter('user__username', selector.users);
  const applications = listFilter('application__name', selector.applications);
  return ids.flatMap((id) =>
    users.flatMap((user) => applications.map((application) => [...common, ...id, ...user, ...application])),
  );
}

/** The questions that name what a user selector names. */
export function userQueries({ names, inactive }: UserSelector): Query[] {
  const active: Query = inactive === true ? [['is_active', 'false']] : [];
  return listFilter('username', names).map((name) => [...active, ...name]);
}

/** The questions that name applications by their names; one for all without names. */
export function applicationQueries(names: readonly string[] | undefined): Query[] {
  return listFilter('name', names);
}

/** Values in parts of a size, the last one shorter. */
export function parts<T>(values: readonly T[], size: number): T[][] {
  const count = Math.ceil(values.length / size);
  return Array.from({ length: count }, (_, part) => values.slice(part * size, (part + 1) * size));
}

/** Last used before, or never used and made before: what is never used has no last use to compare. */
function unused(since: Date): Query {
  const instant = since.toISOString();
  return [
    ['created__lt', instant],
    ['or__last_used__lt', instant],
    ['or__last_used__isnull', 'true'],
  ];
}

/**
 * The questions for a field among these values: `field=value`, `field__in=a,b` in as many parts as the length asks for, and one without the field where
 * there is no list. A value with a comma, which would read as two, is asked for by itself.
 */
export function listFilter(field: string, values: readonly string[] | undefined): Query[] {
  if (values === undefined) return [[]];
  const distinct = [...new Set(values)];
  const single = distinct.filter((value) => value.includes(','));
  const chunks = chunked(distinct.filter((value) => !value.includes(',')));
  return [...chunks, ...single.map((value) => [value])].map((chunk) => {
    const [only, ...more] = chunk;
    return more.length === 0 ? [[field, only ?? '']] : [[`${field}__in`, chunk.join(',')]];
  });
}

function chunked(values: readonly string[]): string[][] {
  const chunks: string[][] = [];
  let room = 0;
  for (const value of values) {
    const length = encodeURIComponent(value).length + 1;
    room -= length;
    if (room < 0) {
      chunks.push([]);
      room = LONGEST_LIST - length;
    }
    chunks.at(-1)?.push(value);
  }
  return chunks;
}

/** The query string, with commas left as they are. */
export function queryString(query: Query): string {
  return query
    .map(([name, value]) => `${name}=${encodeURIComponent(value).replaceAll('%2C', ',')}`)
    .join('&');
}
