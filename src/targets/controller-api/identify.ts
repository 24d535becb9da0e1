import { createHash } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { TokenctlError } from '../../domain/errors.ts';
import type { Secret } from '../../domain/secret.ts';
import type { Identified } from '../../operations/ports/target.ts';
import { readCaller, readMe } from './account.ts';
import type { Api, Query } from './api.ts';
import { isBearerToken } from './connection.ts';
import { listItems } from './listing.ts';
import { isUnauthenticated, parseJson, responseError } from './responses.ts';
import { TOKEN_LISTING } from './tokens.ts';

/**
 * How long ago the last use of a token that was just sent can be, in milliseconds: a server may record uses only once
 * a minute, and its Date header is rounded down to seconds.
 */
const RECENT_USE_MS = 70_000;

/**
 * The tokens that may be the caller's credential. The controller does not say which one it is: it is one of the caller's tokens
 * that has not expired and was just used, because this request is a use. Other tokens used within the same minute
 * cannot be excluded and are returned as well: keeping one token too many is better than revoking the caller's own.
 *
 * @returns Their ids; none for a caller with a password, or with a token of the gateway in front of the component.
 */
export async function ownTokenIds(api: Api): Promise<readonly number[]> {
  const { credential } = api;
  if (credential.kind === 'password' || (await isGatewayToken(api, credential.token.reveal()))) return [];
  const { user, date } = await readCaller(api);
  return await recentlyUsedTokenIds(api, { userId: user.id, date });
}

/**
 * Identifies the owners of token values by sending each as a bearer token, one after the other. A value that is not accepted
 * is found without a use: a controller 24.6.1 answers a request for a missing object with 401 or 404, and a request that
 * fails leaves the last use alone. Sending a live token sets its last use, and the one token of its owner that was not used
 * in the seconds before and is used now is the one that was sent. If several were used in these seconds, or the target
 * records uses less often, all that it may be are returned. Tokens that are already identified are excluded from the next
 * result.
 *
 * @throws TokenctlError as requests do.
 */
export async function* identifyBySending(
  api: Api,
  values: readonly Secret[],
): AsyncGenerator<Identified, void> {
  let knownIds: ReadonlySet<number> | null = null;
  const identified = new Map<string, readonly number[]>();
  for (const [index, value] of values.entries()) {
    const token = value.reveal();
    if (!isBearerToken(token)) continue;
    knownIds ??= new Set(await ownTokenIds(api));
    if (await isGatewayToken(api, token)) continue;
    const used = await usedInLastSeconds(api, token);
    if (used === 'not_accepted') continue;
    const response = await api.send({ method: 'GET', path: 'me/', authorization: `Bearer ${token}` });
    if (isUnauthenticated(response)) continue;
    const what = 'the owner of a token';
    const user = readMe(parseJson(response, api, what), api.dialect);
    if (user === null) throw responseError(response, api, what);
    const fingerprint = createHash('sha256').update(token).digest('hex').slice(0, 12);
    const ids: readonly number[] =
      identified.get(fingerprint) ??
      (await candidateIds(api, { userId: user.id, date: response.headers.date, knownIds, token, used }));
    identified.set(fingerprint, ids);
    if (ids.length === 1) knownIds = new Set([...knownIds, ...ids]);
    const { id, username } = user;
    yield { index, kind: 'access_token', live: true, ids, user: { id, username }, fingerprint };
  }
}

/** The tokens that the one just sent may be. */
async function candidateIds(
  api: Api,
  sent: {
    readonly userId: number;
    readonly date: string | undefined;
    readonly knownIds: ReadonlySet<number>;
    readonly token: string;
    readonly used: UsedBefore | null;
  },
): Promise<readonly number[]> {
  const { credential } = api;
  if (credential.kind === 'token' && credential.token.reveal() === sent.token) return await ownTokenIds(api);
  const only = await onlyNewlyUsed(api, sent);
  if (only !== null) return [only];
  const used = await recentlyUsedTokenIds(api, sent);
  const others = used.filter((id) => !sent.knownIds.has(id));
  return others.length > 0 ? others : used;
}

/** The tokens that were used in the seconds before a value is sent. */
interface UsedBefore {
  /** The filter of these seconds, for asking again. */
  readonly filter: Query;
  readonly ids: ReadonlySet<number>;
}

/** How far back uses are compared, in milliseconds: the Date header is rounded down, and servers' clocks differ a little. */
const COMPARED_MS = 1000;
/** How long to wait before a second try, so that earlier uses are out of the comparison. */
const SECOND_TRY_MS = 2 * COMPARED_MS + 100;

/**
 * Whether a value is accepted, found out without a use, and which tokens were used in the seconds before.
 *
 * @returns Null where uses cannot be compared: the target has no such filter.
 */
async function usedInLastSeconds(api: Api, token: string): Promise<UsedBefore | 'not_accepted' | null> {
  const authorization = `Bearer ${token}`;
  const response = await api.send({ method: 'GET', path: 'tokens/0/', authorization });
  if (isUnauthenticated(response)) return 'not_accepted';
  const now = Date.parse(response.headers.date ?? '');
  if (Number.isNaN(now)) return null;
  const filter: Query = [['last_used__gte', new Date(now - COMPARED_MS).toISOString()]];
  try {
    return { filter, ids: new Set(await tokenIds(api, filter)) };
  } catch (error) {
    if (error instanceof TokenctlError && error.code === 'unsupported') return null;
    throw error;
  }
}

/** The one token of a user whose use is new; null where there are none or several, even at a second try. */
async function onlyNewlyUsed(
  api: Api,
  {
    userId,
    token,
    used,
  }: { readonly userId: number; readonly token: string; readonly used: UsedBefore | null },
): Promise<number | null> {
  if (used === null) return null;
  const first = await newlyUsed(api, userId, used);
  if (first.length === 1) return first[0] ?? null;
  await setTimeout(SECOND_TRY_MS);
  const again = await usedInLastSeconds(api, token);
  if (again === null || again === 'not_accepted') return null;
  await api.send({ method: 'GET', path: 'me/', authorization: `Bearer ${token}` });
  const second = await newlyUsed(api, userId, again);
  const both = first.length === 0 ? second : second.filter((id) => first.includes(id));
  return both.length === 1 ? (both[0] ?? null) : null;
}

async function newlyUsed(api: Api, userId: number, { filter, ids }: UsedBefore): Promise<number[]> {
  const now = await tokenIds(api, [...filter, ['user', String(userId)]]);
  return now.filter((id) => !ids.has(id));
}

/**
 * Whether a token belongs to the gateway in front of a component. The gateway accepts it for requests to the component, but the
 * component does not store it, and the user's other tokens there reveal nothing about it. Sending it counts as a use.
 */
async function isGatewayToken({ gateway }: Api, token: string): Promise<boolean> {
  if (gateway === undefined) return false;
  const response = await gateway.send({ method: 'GET', path: 'me/', authorization: `Bearer ${token}` });
  if (response.status === 200) return true;
  if (isUnauthenticated(response)) return false;
  throw responseError(response, gateway, 'the owner of a token');
}

/**
 * The live tokens of a user that were used within the last minute, by the Date header of a response; a token that was sent with
 * that request is among them. All tokens of the user where the last use cannot be queried.
 */
async function recentlyUsedTokenIds(
  api: Api,
  { userId, date }: { readonly userId: number; readonly date: string | undefined },
): Promise<readonly number[]> {
  const ofUser: Query = [['user', String(userId)]];
  const now = Date.parse(date ?? '');
  if (Number.isNaN(now)) return await tokenIds(api, ofUser);
  const since = new Date(now - RECENT_USE_MS).toISOString();
  const live: Query = [...ofUser, ['expires__gt', new Date(now).toISOString()]];
  try {
    return await tokenIds(api, [...live, ['last_used__gte', since]]);
  } catch (error) {
    if (error instanceof TokenctlError && error.code === 'unsupported') return await tokenIds(api, ofUser);
    throw error;
  }
}

async function tokenIds(api: Api, query: Query): Promise<number[]> {
  const ids: number[] = [];
  for await (const { id } of listItems(api, [query], TOKEN_LISTING)) ids.push(id);
  return ids;
}
