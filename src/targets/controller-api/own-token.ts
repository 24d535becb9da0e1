import { readCaller } from './account.ts';
import type { Api, Query } from './api.ts';
import { tokenIds, usedSince, waitOutUses } from './last-use.ts';
import { isUnauthenticated, responseError } from './responses.ts';

/**
 * How long ago the last use of a token that was just sent can be, in milliseconds: a server may record uses only once
 * a minute, and its Date header is rounded down to seconds.
 */
const RECENT_USE_MS = 70_000;

/**
 * The tokens that may be the caller's credential. The controller does not say which one it is: it is one of the caller's
 * tokens that has not expired and was just used, because this request is a use. If there are several, the one that is used
 * by two requests a few seconds apart is the credential. A server that records uses less often shows no such token: then
 * all of them are returned, since keeping one token too many is better than revoking the caller's own.
 *
 * @returns Their ids; none for a caller with a password, or with a token of the gateway in front of the component.
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

/** Which of a user's tokens a request with the caller's credential shows as used. */
async function usedByCaller(api: Api, userId: number): Promise<readonly number[]> {
  const { date } = await readCaller(api);
  // The use of a request is stored when it ends: only the next one shows it.
  await readCaller(api);
  return (await usedSince(api, { date, query: [['user', String(userId)]] })) ?? [];
}

/**
 * Whether a token belongs to the gateway in front of a component. The gateway accepts it for requests to the component, but the
 * component does not store it, and the user's other tokens there reveal nothing about it. Sending it counts as a use.
 */
export async function isGatewayToken({ gateway }: Api, token: string): Promise<boolean> {
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
export async function recentlyUsedTokenIds(
  api: Api,
  { userId, date }: { readonly userId: number; readonly date: string | undefined },
): Promise<readonly number[]> {
  const ofUser: Query = [['user', String(userId)]];
  const now = Date.parse(date ?? '');
  if (Number.isNaN(now)) return await tokenIds(api, ofUser);
  const live: Query = [...ofUser, ['expires__gt', new Date(now).toISOString()]];
  const used = await usedSince(api, { date, query: live, within: RECENT_USE_MS });
  return used ?? (await tokenIds(api, ofUser));
}
