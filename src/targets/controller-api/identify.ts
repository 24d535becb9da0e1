import { createHash } from 'node:crypto';
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
 * Identifies the owners of token values by sending each as a bearer token, one after the other. Sending a token sets its
 * last use, which shows which of the owner's tokens it is; if others were used within the same minute, all of these
 * are returned. Tokens that are already identified are excluded from the next result.
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
    const response = await api.send({ method: 'GET', path: 'me/', authorization: `Bearer ${token}` });
    if (isUnauthenticated(response)) continue;
    const what = 'the owner of a token';
    const user = readMe(parseJson(response, api, what), api.dialect);
    if (user === null) throw responseError(response, api, what);
    const fingerprint = createHash('sha256').update(token).digest('hex').slice(0, 12);
    const ids: readonly number[] =
      identified.get(fingerprint) ??
      (await candidateIds(api, { userId: user.id, date: response.headers.date, knownIds, token }));
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
  },
): Promise<readonly number[]> {
  const { credential } = api;
  if (credential.kind === 'token' && credential.token.reveal() === sent.token) return await ownTokenIds(api);
  const used = await recentlyUsedTokenIds(api, sent);
  const others = used.filter((id) => !sent.knownIds.has(id));
  return others.length > 0 ? others : used;
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
