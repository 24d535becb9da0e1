import { z } from 'zod';
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
import { countIn, firstItem, type Listing, listItems, listOf } from './listing.ts';
import { listFilter, queryString, within } from './queries.ts';
import { MISSING, orNull } from './responses.ts';

/** How long after a user's creation its entry may be written, in milliseconds. */
const ENTRY_MARGIN_MS = 3_600_000;

/** Null for something missing or unreadable. For an unknown path, a controller returns a page [seen]. */
export async function orMissing<T>(read: () => Promise<T>): Promise<T | null> {
  return await orNull([...MISSING, 'target_misbehaved'], read);
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
  const object = listed.transform(({ input_field_name: field, managed, summary_fields: of, ...body }) => ({
    kind,
    ...body,
    name: body.name ?? field ?? null,
    isManaged: managed === true,
    createdBy: of.created_by ?? null,
    modifiedBy: of.modified_by ?? null,
  }));
  return listOf(`${path}/`, `the list ${path}`, object);
}

/** Lists, by kind, what users created or last changed in a period. Names kinds that cannot be read or filtered. */
export async function listMadeBy(
  api: Api,
  { by, ...window }: Parameters<Evidence['madeBy']>[0],
): Promise<ListedObjects> {
  const objects: ListedObject[] = [];
  const unread: string[] = [];
  const some = (field: string, more: Query) =>
    listFilter(`${field}__id`, by?.map(String)).map((filter) => [...more, ...filter]);
  const queries = [
    ...some('created_by', within('created', window)),
    ...some('modified_by', within('modified', window)),
  ];
  for (const kind of Object.keys(LISTED_KINDS) as ListedKind[]) {
    // A list in another format, or a page in its place, counts as unreadable.
    const found = await orMissing(() => Array.fromAsync(listItems(api, queries, listing(kind))));
    if (found === null) unread.push(kind);
    const distinct = new Map((found ?? []).map((each) => [each.id, each]));
    objects.push(...[...distinct.values()].filter(({ isManaged }) => !isManaged));
  }
  return { objects, unread };
}

const madeUser = z
  .object({ id, username: z.string(), created: instant, is_superuser: z.boolean() })
  .transform(({ id: number, username, created, is_superuser: isSuperuser }) => ({
    id: number,
    username,
    at: created,
    isSuperuser,
  }));

/** A list of users, with the fields that an investigation reads. */
export const MADE_USERS = listOf('users/', 'the list of users', madeUser);

/** When the account with the lowest id was created; null if the list is unreadable. */
export async function oldestUserOf(api: Api): Promise<Date | null> {
  return await orMissing(async () => (await endsOf(api, MADE_USERS)).oldest);
}

/** Lists the users created in a period, and whether the activity stream has an entry about it. */
export async function listUsersMade(api: Api, window: Window): Promise<readonly MadeUser[] | null> {
  const { since, until } = window;
  return await orNull(MISSING, async () => {
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
  });
}

/** Filters by the column shown as `created`; returns all users if there is no such filter. */
async function madeUsers(api: Api, window: Window): Promise<readonly Omit<MadeUser, 'isRecorded'>[]> {
  const all = (query: Query) => Array.fromAsync(listItems(api, [query], MADE_USERS));
  return (await orNull(['unsupported'], () => all(within('date_joined', window)))) ?? (await all([]));
}

/** Counts the missing entries since an instant, up to the last existing one: the API shows no last number. */
export async function countMissingEntries(api: Api, since: Date): Promise<MissingNumbers | null> {
  const ask = async (query: Query) => {
    const path = `${STREAM.path}?${queryString([...query, ['page_size', '1']])}`;
    return await api.getJson(path, STREAM.what);
  };
  const of = { from: api, what: STREAM.what, read: STREAM.read };
  return await orNull(MISSING, async () => {
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
    const present = countIn(
      await ask([
        ['id__gt', String(first - 1)],
        ['id__lte', String(newest.id)],
        ['order_by', 'id'],
      ]),
    );
    if (present === null) return null;
    const missing = Math.max(0, newest.id - first + 1 - present);
    return { first, last: newest.id, missing, isEndKnown: false };
  });
}
