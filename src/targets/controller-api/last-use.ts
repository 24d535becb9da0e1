import { setTimeout } from 'node:timers/promises';
import { TokenctlError } from '../../domain/errors.ts';
import type { Token } from '../../domain/token.ts';
import type { Api, Query } from './api.ts';
import { listFilter, listItems, queryString } from './listing.ts';
import { parseJson } from './responses.ts';
import { TOKEN_LISTING } from './tokens.ts';

/** The last use of tokens by id, rounded down to seconds; null for never. Tokens whose last use is unknown are missing. */
export type LastUses = ReadonlyMap<number, Date | null>;

/** How many tokens' last uses are read where each takes about 28 requests. */
const MAX_READ = 200;
/** How many tokens are read where the list shows the last use: 100 pages. */
const MAX_LISTED = 20_000;
/** No controller had OAuth2 tokens before, in seconds. */
const FIRST_USE_S = Date.UTC(2018, 0, 1) / 1000;
const SECOND_MS = 1000;

/**
 * Reads when tokens were last used, without using them. A controller does not show it, but filters by it: the time
 * is narrowed down to a second by halving the period.
 *
 * @param until A time of the server after all uses that matter.
 * @returns None for more than 200 tokens, and where the target has no such filter.
 * @throws TokenctlError as requests do.
 */
export async function readLastUses(
  api: Api,
  { tokenIds, until }: { readonly tokenIds: readonly number[]; readonly until: Date },
): Promise<LastUses> {
  const found = new Map<number, Date | null>();
  if (tokenIds.length === 0 || tokenIds.length > MAX_READ) return found;
  const among = async (ids: readonly number[], filter: Query[number]) =>
    new Set(await matchingIds(api, { ids, filter }));
  const narrow = async (ids: readonly number[], from: number, to: number): Promise<void> => {
    if (ids.length === 0) return;
    if (to - from <= 1) {
      if (from > FIRST_USE_S) for (const id of ids) found.set(id, new Date(from * SECOND_MS));
      return;
    }
    const middle = Math.floor((from + to) / 2);
    const later = await among(ids, ['last_used__gte', new Date(middle * SECOND_MS).toISOString()]);
    await Promise.all([
      narrow(
        ids.filter((id) => !later.has(id)),
        from,
        middle,
      ),
      narrow(
        ids.filter((id) => later.has(id)),
        middle,
        to,
      ),
    ]);
  };
  try {
    const never = await among(tokenIds, ['last_used__isnull', 'true']);
    for (const id of never) found.set(id, null);
    const used = tokenIds.filter((id) => !never.has(id));
    await narrow(used, FIRST_USE_S, Math.ceil(until.getTime() / SECOND_MS) + 1);
    return found;
  } catch (error) {
    if (isUnsupported(error)) return new Map();
    throw error;
  }
}

/** Which of a few tokens match a filter: one page. */
async function matchingIds(
  api: Api,
  { ids, filter }: { readonly ids: readonly number[]; readonly filter: Query[number] },
): Promise<number[]> {
  const [named = []] = listFilter('id', ids.map(String));
  return await tokenIds(api, [...named, filter]);
}

/**
 * Reads the last uses of all tokens from the list, where it shows them, as a gateway's does. None if there are more than
 * 20,000 tokens.
 */
export async function listedLastUses(api: Api): Promise<LastUses> {
  const found = new Map<number, Date | null>();
  if (!api.dialect.showsLastUse || (await hasMoreTokens(api, MAX_LISTED))) return found;
  for await (const { id, lastUsed } of listItems(api, [[]], TOKEN_LISTING)) {
    if (lastUsed !== undefined) found.set(id, lastUsed);
  }
  return found;
}

async function hasMoreTokens(api: Api, limit: number): Promise<boolean> {
  const path = `tokens/?${queryString([['page_size', '1']])}`;
  const body = parseJson(await api.send({ method: 'GET', path }), api, TOKEN_LISTING.what);
  const count = typeof body === 'object' && body !== null && 'count' in body ? body.count : undefined;
  return typeof count !== 'number' || count > limit;
}

/** How far back uses are compared, in milliseconds: the Date header is rounded down, and servers' clocks differ a little. */
const COMPARED_MS = 1000;
/** How long to wait until earlier uses are out of a second comparison. */
const OUT_OF_COMPARISON_MS = 2 * COMPARED_MS + 100;

/** Waits until the uses so far are out of the next comparison. */
export async function waitOutUses(): Promise<void> {
  await setTimeout(OUT_OF_COMPARISON_MS);
}

/**
 * The tokens of a query that were used since some milliseconds (by default a second) before a Date header; null where the
 * target has no such filter.
 */
export async function usedSince(
  api: Api,
  {
    date,
    query,
    within = COMPARED_MS,
  }: { readonly date: string | undefined; readonly query: Query; readonly within?: number },
): Promise<readonly number[] | null> {
  const now = Date.parse(date ?? '');
  if (Number.isNaN(now)) return null;
  const since = new Date(now - within).toISOString();
  try {
    return await tokenIds(api, [...query, ['last_used__gte', since]]);
  } catch (error) {
    if (isUnsupported(error)) return null;
    throw error;
  }
}

/** The tokens of a user that are not expired. */
export async function liveTokens(
  api: Api,
  { userId, now }: { readonly userId: number; readonly now: Date },
): Promise<readonly Token[]> {
  const query: Query = [
    ['user', String(userId)],
    ['expires__gt', now.toISOString()],
  ];
  return await Array.fromAsync(listItems(api, [query], TOKEN_LISTING));
}

/** The ids of the tokens of a query. */
export async function tokenIds(api: Api, query: Query): Promise<number[]> {
  const ids: number[] = [];
  for await (const { id } of listItems(api, [query], TOKEN_LISTING)) ids.push(id);
  return ids;
}

/** Whether the target rejected a filter. */
function isUnsupported(error: unknown): boolean {
  return error instanceof TokenctlError && error.code === 'unsupported';
}
