import { TokenctlError } from '@tokenctl/common/errors.ts';
import { numberText } from '@tokenctl/common/text.ts';
import type { z } from 'zod';
import { usedToken } from '../../domain/recorded-use.ts';
import { Rows } from '../../domain/rows.ts';
import type { Activity } from '../../domain/token.ts';
import type { ActivitySelector } from '../../operations/ports/target-parts.ts';
import { type Api, type Query, type Reader, readerOf } from './api.ts';
import type { HttpResponse } from './connection.ts';
import { queryString } from './queries.ts';
import { parseJson, type Responder, unknownFormat } from './responses.ts';

/** The maximum page size of a controller and a gateway. */
const PAGE_SIZE = 200;
/** The maximum number of items in a list: twenty times the largest list that was tried. */
const MAX_ITEMS = 20_000_000;

export interface Listing<Item extends { readonly id: number }> {
  /** For example, `tokens/`. */
  readonly path: string;
  /** For messages: `the list of tokens`. */
  readonly what: string;
  readonly read: Reader<Item>;
}

/** A list whose items match a schema. */
export function listOf<Item extends { readonly id: number }>(
  path: string,
  what: string,
  schema: z.ZodType<Item>,
): Listing<Item> {
  return { path, what, read: readerOf(schema) };
}

/**
 * Streams the items of several queries, one by one; each query ascending by id. Each page requests the items
 * after the last id of the previous page: with numbered pages, items that are deleted meanwhile would hide
 * others. Items added meanwhile are not read: on a gateway, each request with a token of scope write adds an
 * entry to the activity stream, so reading would never end. It reads no more than announced at the start, so
 * that a server with endless pages does not fill the memory.
 * @throws TokenctlError as requests do; `unsupported` if a filter is rejected.
 */
export function listItems<Item extends { readonly id: number }>(
  api: Api,
  queries: readonly Query[],
  listing: Listing<Item>,
): Rows<Item> {
  return Rows.inTurn(queries.map((query) => listPages(api, query, listing)));
}

function listPages<Item extends { readonly id: number }>(api: Api, query: Query, listing: Listing<Item>) {
  const { what } = listing;
  let end: ListEnd | null = null;
  let announced: number | null = null;
  let [after, items, pages, isOver] = [0, 0, 0, false];
  return new Rows(async () => {
    if (isOver) return null;
    pages += 1;
    const named = pages === 1 ? what : `page ${pages} of ${what}`;
    const range: Query = [...query, ...rangeAfter(after, end)];
    const page = await getItems(api, range, { listing: { ...listing, what: named }, after });
    const pageSize = page.items.length;
    items += pageSize;
    if (end !== null) requireAnnounced(api, { end, items, pages, what });
    after = page.items.at(-1)?.id ?? after;
    announced ??= page.count;
    if (!page.isLast) end ??= await readEnd(api, query, { listing, count: announced, pageSize });
    isOver = page.isLast || end === null || after >= end.last;
    if (isOver && items < (announced ?? 0)) await requireNoMore(api, query, { listing, end, items });
    return page.items;
  });
}

interface Page<Item> {
  readonly items: readonly Item[];
  readonly isLast: boolean;
  /** See {@link countIn}. */
  readonly count: number | null;
}

/** A page of items with ids greater than `after`. Its much larger JSON can be garbage-collected afterwards. */
async function getItems<Item extends { readonly id: number }>(
  api: Api,
  query: Query,
  { listing, after }: { listing: Listing<Item>; after: number },
): Promise<Page<Item>> {
  const body = await getPage(api, query, listing);
  const { results, isLast } = readPage(body);
  let last = after;
  const items = results.map((result) => {
    const item = listing.read(result);
    // If ids did not ascend, the next page would start before this one: an endless loop.
    if (item === null || item.id <= last) throw unexpectedShapeError(api, listing.what);
    last = item.id;
    return item;
  });
  return { items, isLast, count: countIn(body) };
}

/** Selects the page after an id. Only the first page has a count, so short lists take one request. */
function rangeAfter(after: number, end: ListEnd | null): Query {
  return [
    ['id__gt', String(after)],
    ...(end === null ? [] : [['id__lte', String(end.last)] as const]),
    ['order_by', 'id'],
    ['page_size', String(PAGE_SIZE)],
    ...(end === null ? [] : [['count_disabled', '1'] as const]),
  ];
}

/** The number of items that a page announces for the whole list; null if there is none. */
export function countIn(page: unknown): number | null {
  const count = typeof page === 'object' && page !== null && 'count' in page ? page.count : null;
  return Number.isSafeInteger(count) ? Number(count) : null;
}

/**
 * Re-reads the number of items after a list that was shorter than announced: some may have been deleted
 * meanwhile. Items added after its end do not count.
 * @throws TokenctlError `target_misbehaved` if more are announced than were listed.
 */
async function requireNoMore<Item extends { readonly id: number }>(
  api: Api,
  query: Query,
  list: { readonly listing: Listing<Item>; readonly end: ListEnd | null; readonly items: number },
): Promise<void> {
  const { listing, end, items } = list;
  const range: Query = [
    ...(end === null ? [] : [['id__lte', String(end.last)] as const]),
    ['order_by', 'id'],
    ['page_size', '1'],
  ];
  const announced = countIn(await getPage(api, [...query, ...range], listing)) ?? 0;
  if (announced <= items) return;
  throw new TokenctlError(
    'target_misbehaved',
    `${api.address} announced ${numberText(announced)} items for ${listing.what} and listed ${numberText(items)}`,
    {
      hint: 'Try again. If this happens again, check what is between this machine and the controller. It truncates lists.',
      details: { announced, listed: items },
    },
  );
}

/** The newest items of a query, descending by id: at most this many plus one page. Also whether these are all. */
export async function newestItems<Item extends { readonly id: number }>(
  api: Api,
  query: Query,
  listing: Listing<Item> & { readonly max: number },
): Promise<{ readonly items: readonly Item[]; readonly isWhole: boolean }> {
  const items: Item[] = [];
  while (items.length < listing.max) {
    const last = items.at(-1)?.id;
    const range: Query = [
      ...(last === undefined ? [] : [['id__lt', String(last)] as const]),
      ['order_by', '-id'],
      ['page_size', String(PAGE_SIZE)],
    ];
    const { results, isLast } = readPage(await getPage(api, [...query, ...range], listing));
    for (const result of results) {
      const item = listing.read(result);
      if (item === null || item.id >= (items.at(-1)?.id ?? Number.POSITIVE_INFINITY))
        throw unexpectedShapeError(api, listing.what);
      items.push(item);
    }
    if (isLast) return { items, isWhole: true };
  }
  return { items, isWhole: false };
}

/** Requests a page. A network error names the page. */
async function getPage(
  api: Api,
  query: Query,
  { path, what }: Pick<Listing<{ readonly id: number }>, 'path' | 'what'>,
): Promise<unknown> {
  let response: HttpResponse;
  try {
    response = await api.send({ method: 'GET', path: `${path}?${queryString(query)}` });
  } catch (error) {
    if (!(error instanceof TokenctlError)) throw error;
    const { code, message, hint, cause } = error;
    throw new TokenctlError(code, `${message} (${what})`, { hint, cause });
  }
  return parseJson(response, api, what);
}

/** The end of a list with several pages, as announced after its first page. */
interface ListEnd {
  /** The largest id. */
  readonly last: number;
  readonly count: number;
  readonly pageSize: number;
}

/** The current end of a query, with the count of its first page. Null if no items remain. */
async function readEnd<Item extends { readonly id: number }>(
  api: Api,
  query: Query,
  options: { readonly listing: Listing<Item>; readonly count: number | null; readonly pageSize: number },
): Promise<ListEnd | null> {
  const { listing, count, pageSize } = options;
  const { what, read } = listing;
  const range: Query = [
    ['order_by', '-id'],
    ['page_size', '1'],
    ['count_disabled', '1'],
  ];
  const body = await getPage(api, [...query, ...range], listing);
  const last = firstItem(body, { from: api, what, read })?.id ?? null;
  if (last === null) return null;
  if (count === null) throw unexpectedShapeError(api, what);
  if (count > MAX_ITEMS) {
    throw new TokenctlError(
      'target_misbehaved',
      `${api.address} announced ${numberText(count)} items for ${what}; the maximum is ${numberText(MAX_ITEMS)}`,
      { hint: 'Narrow the selection, for example by user or by age.' },
    );
  }
  return { last, count, pageSize };
}

/** Refuses more items than announced. Some more are accepted: changed items may start to match a filter. */
function requireAnnounced(
  { address }: Responder,
  list: { readonly end: ListEnd; readonly items: number; readonly pages: number; readonly what: string },
): void {
  const { end, items, pages, what } = list;
  const maxItems = Math.ceil(end.count * 1.1) + 2 * PAGE_SIZE;
  const maxPages = Math.ceil(maxItems / end.pageSize) + 1;
  if (items <= maxItems && pages <= maxPages) return;
  const tooMany =
    items > maxItems
      ? `more than the ${numberText(end.count)} items that it announced for ${what}`
      : `more pages than the ${numberText(end.count)} items that it announced for ${what} require`;
  throw new TokenctlError('target_misbehaved', `${address} sent ${tooMany}; stopped at page ${pages}`, {
    hint: 'Run `tokenctl context check` to see which server answers at this address.',
    details: { page: pages, announced: end.count },
  });
}

/** The first item of a page; null if the page is empty. Throws `target_misbehaved` for an invalid one. */
export function firstItem<Item>(
  body: unknown,
  options: { readonly from: Responder; readonly what: string; readonly read: Reader<Item> },
): Item | null {
  const { results } = readPage(body);
  if (results.length === 0) return null;
  const item = options.read(results[0]);
  if (item === null) throw unexpectedShapeError(options.from, options.what);
  return item;
}

/** The last page has no `next`, or is empty. An invalid page has one invalid item. */
function readPage(body: unknown): { results: readonly unknown[]; isLast: boolean } {
  if (typeof body !== 'object' || body === null || !('results' in body) || !Array.isArray(body.results)) {
    return { results: [null], isLast: true };
  }
  const { results } = body;
  const hasEnded = 'next' in body && body.next === null && results.length < PAGE_SIZE;
  return { results, isLast: results.length === 0 || hasEnded };
}

function unexpectedShapeError({ address }: Responder, what: string): TokenctlError {
  return unknownFormat(`${address} sent ${what} in a format that no controller or gateway uses`);
}

const ACTIVITY = 'the activity stream';

/** How many users' last changes are queried at the same time. */
const CONCURRENCY = 10;

/**
 * Streams the activity stream, ascending by id, which is the order of writing. A selector that is too long for one
 * query is split into several, one after the other.
 * @throws TokenctlError `unsupported` if there is no activity stream or a filter is rejected, `permission_refused`.
 */
export async function* listActivity(api: Api, selector: ActivitySelector): AsyncIterable<Activity> {
  const { path, queries, read } = api.dialect.activity;
  const wanted = selector.tokenIds === undefined ? null : new Set(selector.tokenIds);
  try {
    for await (const entry of listItems(api, queries(selector), { path, what: ACTIVITY, read })) {
      const { tokenIds, ...activity } = entry;
      // A filter may be a text search, which also finds entries about other tokens.
      if (wanted === null || tokenIds.some((id) => wanted.has(id))) yield activity;
    }
  } catch (error) {
    throw missingStreamError(error, api);
  }
}

/** The time of each user's last change. Takes one request per user, a few at a time. */
export async function lastChanges(api: Api, userIds: readonly number[]): Promise<ReadonlyMap<number, Date>> {
  const found = new Map<number, Date>();
  const pending = new Set(userIds).values();
  const work = async () => {
    for (const userId of pending) {
      const at = await lastChange(api, userId);
      if (at !== null) found.set(userId, at);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
  return found;
}

/** How many pages are searched for a change among the uses that a gateway records. */
const MAX_PAGES_OF_USES = 25;

/** A user's last change, ignoring recorded token uses; if there are too many, the oldest entry that was read. */
async function lastChange(api: Api, userId: number): Promise<Date | null> {
  const { path, latestOf, read } = api.dialect.activity;
  let before: Query = [];
  let oldest: Date | null = null;
  try {
    for (let pages = 0; pages <= MAX_PAGES_OF_USES; pages += 1) {
      const size = pages === 0 ? 1 : PAGE_SIZE;
      const range: Query = [...before, ['page_size', String(size)], ['count_disabled', '1']];
      const { results } = readPage(
        await getPage(api, [...latestOf(userId), ...range], { path, what: ACTIVITY }),
      );
      for (const result of results) {
        const entry = read(result);
        if (entry === null) throw unexpectedShapeError(api, ACTIVITY);
        if (usedToken(entry) === null) return entry.at;
        oldest = entry.at;
        before = [['id__lt', String(entry.id)]];
      }
      if (results.length === 0) return null;
    }
    return oldest;
  } catch (error) {
    throw missingStreamError(error, api);
  }
}

function missingStreamError(error: unknown, { address }: Api): unknown {
  if (!(error instanceof TokenctlError && error.code === 'not_found')) return error;
  return new TokenctlError('unsupported', `${address} has no activity stream`, { cause: error });
}

/** Items by a filter, or the others if the target rejects the filter. */
export async function* orOthers<Item>(
  items: AsyncIterable<Item>,
  others: () => AsyncIterable<Item>,
): AsyncGenerator<Item, void> {
  try {
    yield* items;
  } catch (error) {
    if (!(error instanceof TokenctlError && error.code === 'unsupported')) throw error;
    yield* others();
  }
}
