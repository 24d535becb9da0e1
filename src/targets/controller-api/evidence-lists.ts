import { TokenctlError } from '@tokenctl/common/errors.ts';
import { z } from 'zod';
import type { Actor } from '../../domain/investigation/investigation.ts';
import { kindOf, LISTED_KINDS, type ListedKind } from '../../domain/investigation/kinds.ts';
import type {
  Evidence,
  ListedObject,
  ListedObjects,
  MadeUser,
  MissingNumbers,
  Window,
} from '../../operations/ports/evidence.ts';
import { type Api, id, instant, type Query } from './api.ts';
import { STREAM } from './evidence-records.ts';
import { firstItem, type Listing, listItems } from './listing.ts';
import { listFilter, queryString } from './queries.ts';

/** How long after a user's creation its entry may be written, in milliseconds. */
const ENTRY_MARGIN_MS = 3_600_000;

/** The limits of a period as filters of a field. */
export function within(field: string, { since, until }: Window): Query {
  return [
    [`${field}__gte`, since.toISOString()],
    [`${field}__lt`, until.toISOString()],
  ];
}

/** Whether this version does not have something, or this account may not read it. */
export function isMissing(error: unknown): boolean {
  return (
    error instanceof TokenctlError && ['not_found', 'permission_refused', 'unsupported'].includes(error.code)
  );
}

/** Whether a response is not from a controller, such as the page that some return instead of a list. */
export function isMisbehaving(error: unknown): boolean {
  return error instanceof TokenctlError && error.code === 'target_misbehaved';
}

/** Null for something missing or unreadable. For an unknown path, a controller returns a page [seen]. */
export async function orMissing<T>(read: () => Promise<T>): Promise<T | null> {
  try {
    return await read();
  } catch (error) {
    if (isMissing(error) || isMisbehaving(error)) return null;
    throw error;
  }
}

/** The items of a list with these ids. */
export async function listById<Item extends { readonly id: number }>(
  api: Api,
  ids: readonly number[],
  list: Listing<Item>,
): Promise<ReadonlyMap<number, Item>> {
  const found = await Array.fromAsync(listItems(api, listFilter('id', ids.map(String)), list));
  return new Map(found.map((each) => [each.id, each]));
}

/** The times of a stream's oldest and newest entry; null if there is none. */
export async function endsOf(
  api: Api,
  { path, what, read }: Listing<{ readonly id: number; readonly at: Date }>,
): Promise<{ readonly oldest: Date | null; readonly newest: Date | null }> {
  const end = async (order: string) => {
    const body = await api.getJson(`${path}?order_by=${order}&page_size=1`, what);
    const first = z.looseObject({ results: z.array(z.unknown()) }).safeParse(body).data?.results[0];
    return first === undefined ? null : (read(first)?.at ?? null);
  };
  return { oldest: await end('id'), newest: await end('-id') };
}

const maker = z.object({ id: z.number().int(), username: z.string() }).nullish().catch(null);
const listed = z.object({
  id,
  created: instant,
  modified: instant,
  name: z.string().nullish(),
  input_field_name: z.string().nullish(),
  managed: z.boolean().optional(),
  summary_fields: z.object({ created_by: maker, modified_by: maker }),
});

function listing(kind: ListedKind): Listing<ListedObject & { readonly isManaged: boolean }> {
  const path = kindOf(kind)?.path ?? kind;
  return {
    path: `${path}/`,
    what: `the list ${path}`,
    read: (body) => {
      const found = listed.safeParse(body).data;
      if (found === undefined) return null;
      const {
        id: number,
        created,
        modified,
        name,
        input_field_name: field,
        managed,
        summary_fields: of,
      } = found;
      return {
        kind,
        id: number,
        name: name ?? field ?? null,
        created,
        modified,
        isManaged: managed === true,
        createdBy: actorOf(of.created_by),
        modifiedBy: actorOf(of.modified_by),
      };
    },
  };
}

function actorOf(found: Actor | null | undefined): Actor | null {
  return found ?? null;
}

/** Lists, by kind, what users created or last changed in a period. Names kinds that cannot be read or filtered. */
export async function listMadeBy(
  api: Api,
  { by, ...window }: Parameters<Evidence['madeBy']>[0],
): Promise<ListedObjects> {
  const objects: ListedObject[] = [];
  const unread: string[] = [];
  const of = (field: string): readonly Query[] => {
    if (by === null) return [[]];
    return by.length === 0 ? [] : listFilter(`${field}__id`, by.map(String));
  };
  for (const kind of Object.keys(LISTED_KINDS) as ListedKind[]) {
    const some = (field: string, more: Query) => of(field).map((filter) => [...more, ...filter]);
    const queries = [
      ...some('created_by', within('created', window)),
      ...some('modified_by', within('modified', window)),
    ];
    try {
      const found = await Array.fromAsync(listItems(api, queries, listing(kind)));
      const distinct = new Map(found.map((each) => [each.id, each]));
      objects.push(...[...distinct.values()].filter(({ isManaged }) => !isManaged));
    } catch (error) {
      // A list in another format, or a page in its place, counts as unreadable.
      if (!isMissing(error) && !(error instanceof TokenctlError && error.code === 'target_misbehaved'))
        throw error;
      unread.push(kind);
    }
  }
  return { objects, unread };
}

/** A list of users, with the fields that an investigation reads. */
export const MADE_USERS: Listing<Omit<MadeUser, 'isRecorded'>> = {
  path: 'users/',
  what: 'the list of users',
  read: (body) => madeUser.safeParse(body).data ?? null,
};

const madeUser = z
  .object({ id, username: z.string(), created: instant, is_superuser: z.boolean() })
  .transform(({ id: number, username, created, is_superuser: isSuperuser }) => ({
    id: number,
    username,
    at: created,
    isSuperuser,
  }));

/** When the account with the lowest id was created; null if the list is unreadable. */
export async function oldestUserOf(api: Api): Promise<Date | null> {
  return await orMissing(async () => (await endsOf(api, MADE_USERS)).oldest);
}

/** Lists the users created in a period, and whether the activity stream has an entry about it. */
export async function listUsersMade(api: Api, window: Window): Promise<readonly MadeUser[] | null> {
  const { since, until } = window;
  try {
    const users = (await madeUsers(api, window)).filter(({ at }) => at >= since && at < until);
    if (users.length === 0) return [];
    const recorded = new Set<unknown>();
    const query: Query = [
      ...within('timestamp', { since, until: new Date(until.getTime() + ENTRY_MARGIN_MS) }),
      ['object1', 'user'],
      ['operation', 'create'],
    ];
    for await (const { changes } of listItems(api, [query], STREAM)) recorded.add(changes['id']);
    return users.map((each) => ({ ...each, isRecorded: recorded.has(each.id) }));
  } catch (error) {
    if (!isMissing(error)) throw error;
    return null;
  }
}

/** Filters by the column shown as `created`; returns all users if there is no such filter. */
async function madeUsers(api: Api, window: Window): Promise<readonly Omit<MadeUser, 'isRecorded'>[]> {
  try {
    return await Array.fromAsync(listItems(api, [within('date_joined', window)], MADE_USERS));
  } catch (error) {
    if (!(error instanceof TokenctlError && error.code === 'unsupported')) throw error;
    return await Array.fromAsync(listItems(api, [[]], MADE_USERS));
  }
}

/** Counts the missing entries since an instant, up to the last existing one: the API shows no last number. */
export async function countMissingEntries(api: Api, since: Date): Promise<MissingNumbers | null> {
  const ask = async (query: Query) => {
    const path = `${STREAM.path}?${queryString([...query, ['page_size', '1']])}`;
    return await api.getJson(path, STREAM.what);
  };
  const of = { from: api, what: STREAM.what, read: STREAM.read };
  try {
    const from: Query = [['timestamp__gte', since.toISOString()]];
    const oldest = firstItem(await ask([...from, ['order_by', 'id']]), of);
    const newest = firstItem(await ask([['order_by', '-id']]), of);
    if (oldest === null || newest === null) return { first: 1, last: 0, missing: 0, isEndKnown: false };
    const before = firstItem(
      await ask([
        ['id__lt', String(oldest.id)],
        ['order_by', '-id'],
      ]),
      of,
    );
    const first = (before?.id ?? oldest.id - 1) + 1;
    const body = await ask([
      ['id__gt', String(first - 1)],
      ['id__lte', String(newest.id)],
      ['order_by', 'id'],
    ]);
    const count = z.looseObject({ count: z.number() }).safeParse(body).data?.count;
    if (count === undefined) return null;
    const missing = Math.max(0, newest.id - first + 1 - count);
    return { first, last: newest.id, missing, isEndKnown: false };
  } catch (error) {
    if (!isMissing(error)) throw error;
    return null;
  }
}
