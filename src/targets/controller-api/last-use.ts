import { setTimeout } from 'node:timers/promises';
import type { Token } from '../../domain/token.ts';
import { readCaller } from './account.ts';
import type { Api, Query } from './api.ts';
import { countIn, listItems } from './listing.ts';
import { listFilter } from './queries.ts';
import { isUnauthenticated, orNull, responseError } from './responses.ts';
import { TOKEN_LISTING } from './tokens.ts';

/** The last use of tokens by id, rounded down to seconds; null for never. Unknown ones are missing. */
export type LastUses = ReadonlyMap<number, Date | null>;

/** The maximum number of tokens if reading each last use takes about 28 requests. */
const MAX_READ = 200;
/** The maximum number of tokens if the list shows the last use: 100 pages. */
const MAX_LISTED = 20_000;
/** In seconds. No controller had OAuth2 tokens before. */
const FIRST_USE_S = Date.UTC(2018, 0, 1) / 1000;
const SECOND_MS = 1000;

/**
 * Reads when tokens were last used, without using them. A controller does not show it, but can filter by it:
 * a binary search finds the second.
 * @param until A server time after all relevant uses.
 * @returns Empty for more than 200 tokens, or if the target has no such filter.
 * @throws TokenctlError as requests do.
 */
export async function readLastUses(
  api: Api,
  { tokenIds, until }: { tokenIds: readonly number[]; until: Date },
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
  const read = async () => {
    const never = await among(tokenIds, ['last_used__isnull', 'true']);
    for (const id of never) found.set(id, null);
    const used = tokenIds.filter((id) => !never.has(id));
    await narrow(used, FIRST_USE_S, Math.ceil(until.getTime() / SECOND_MS) + 1);
    return found;
  };
  return (await orNull(['unsupported'], read)) ?? new Map();
}

/** Which of a few tokens match a filter, in one page. */
async function matchingIds(api: Api, { ids, filter }: { ids: readonly number[]; filter: Query[number] }) {
  const [named = []] = listFilter('id', ids.map(String));
  return await tokenIds(api, [...named, filter]);
}

/** Reads all last uses from a list that shows them, as a gateway's does. Empty for more than 20,000 tokens. */
export async function listedLastUses(api: Api): Promise<LastUses> {
  const found = new Map<number, Date | null>();
  if (!api.dialect.showsLastUse || (await hasMoreTokens(api, MAX_LISTED))) return found;
  for await (const { id, lastUsed } of listItems(api, [[]], TOKEN_LISTING)) {
    if (lastUsed !== undefined) found.set(id, lastUsed);
  }
  return found;
}

async function hasMoreTokens(api: Api, limit: number): Promise<boolean> {
  const count = countIn(await api.getJson('tokens/?page_size=1', TOKEN_LISTING.what));
  return count === null || count > limit;
}

/** How far back uses are compared, in milliseconds: Date is rounded down, and servers' clocks differ slightly. */
const COMPARED_MS = 1000;
/** How long to wait until earlier uses no longer count in a second comparison, in milliseconds. */
const OUT_OF_COMPARISON_MS = 2 * COMPARED_MS + 100;

/** Waits until earlier uses no longer count in the next comparison. */
export async function waitOutUses(): Promise<void> {
  await setTimeout(OUT_OF_COMPARISON_MS);
}

/** The tokens used within some milliseconds before a Date header; null if the target has no such filter. */
export async function usedSince(
  api: Api,
  { date, query, within = COMPARED_MS }: { date: string | undefined; query: Query; within?: number },
): Promise<readonly number[] | null> {
  const now = Date.parse(date ?? '');
  if (Number.isNaN(now)) return null;
  const since = new Date(now - within).toISOString();
  return await orNull(['unsupported'], () => tokenIds(api, [...query, ['last_used__gte', since]]));
}

export async function liveTokens(
  api: Api,
  { userId, now }: { userId: number; now: Date },
): Promise<readonly Token[]> {
  const query: Query = [
    ['user', String(userId)],
    ['expires__gt', now.toISOString()],
  ];
  return await Array.fromAsync(listItems(api, [query], TOKEN_LISTING));
}

async function tokenIds(api: Api, query: Query): Promise<number[]> {
  const ids: number[] = [];
  for await (const { id } of listItems(api, [query], TOKEN_LISTING)) ids.push(id);
  return ids;
}

/** The maximum age of the use of a token just sent, in milliseconds: a server may record uses once a minute. */
const RECENT_USE_MS = 70_000;

/**
 * The tokens that may be the caller's credential. The controller does not show which one it is: it is an unexpired
 * token of the caller that was just used, because this request is a use. If there are several, it is the one used by
 * two requests a few seconds apart. A server that records uses less often shows no such token. Then all are returned,
 * since keeping one token too many is better than revoking the caller's own.
 * @returns Their ids; empty for a caller with a password, or with a token of the gateway in front of the component.
 */
export async function ownTokenIds(api: Api): Promise<readonly number[]> {
  const { credential } = api;
  if (credential.kind === 'password' || (await isGatewayToken(api, credential.token.reveal()))) return [];
  const { user, date } = await readCaller(api);
  const recent = await recentlyUsedTokenIds(api, { userId: user.id, date });
  if (recent.length < 2) return recent;
  const first = await usedByCaller(api, user.id);
  if (first.length === 0) return recent;
  await waitOutUses();
  const second = await usedByCaller(api, user.id);
  const both = second.filter((id) => first.includes(id));
  return both.length > 0 ? both : recent;
}

/** Which of a user's tokens appear as used after a request with the caller's credential. */
async function usedByCaller(api: Api, userId: number): Promise<readonly number[]> {
  const { date } = await readCaller(api);
  // A use is stored when its request ends, so only the next request shows it.
  await readCaller(api);
  return (await usedSince(api, { date, query: [['user', String(userId)]] })) ?? [];
}

/**
 * Whether a token belongs to the gateway in front of a component. The gateway accepts it for requests to the
 * component, but the component does not store it, and the user's other tokens there reveal nothing about it.
 * Sending it counts as a use.
 */
export async function isGatewayToken({ gateway }: Api, token: string): Promise<boolean> {
  if (gateway === undefined) return false;
  const response = await gateway.getAs(token, 'me/');
  if (response.status === 200) return true;
  if (isUnauthenticated(response)) return false;
  throw responseError(response, gateway, 'the owner of a token');
}

/**
 * The live tokens of a user that were used within the last minute, by the Date header of a response. A token
 * sent with that request is among them. Returns all of the user's tokens if the last use cannot be queried.
 */
export async function recentlyUsedTokenIds(
  api: Api,
  { userId, date }: { userId: number; date: string | undefined },
): Promise<readonly number[]> {
  const ofUser: Query = [['user', String(userId)]];
  const now = Date.parse(date ?? '');
  if (Number.isNaN(now)) return await tokenIds(api, ofUser);
  const live: Query = [...ofUser, ['expires__gt', new Date(now).toISOString()]];
  const used = await usedSince(api, { date, query: live, within: RECENT_USE_MS });
  return used ?? (await tokenIds(api, ofUser));
}
