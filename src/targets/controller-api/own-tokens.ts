import { TokenctlError } from '../../domain/errors.ts';
import type { Api } from './api.ts';
import { caller } from './caller.ts';
import { isOfGateway } from './gateway-token.ts';
import { pagesOf } from './pages.ts';
import type { Query } from './query.ts';
import { readToken } from './token-body.ts';

/**
 * How far back the last use of the caller's own token can lie, in milliseconds: a server may note it
 * once a minute only, and its Date header is rounded down to seconds.
 */
const LAST_USE_WITHIN = 70_000;

/**
 * The tokens that may be the one the caller is using. A controller does not say which: it is one of the
 * caller's that is not expired and was used just now, for this question is a use. Others that were used
 * in the same minute cannot be told apart and are named as well: better one too many kept than the own
 * one revoked half-way.
 *
 * @returns Their ids; none for a caller with a password, or with a token of the gateway before the component.
 */
export async function ownTokenIds(api: Api): Promise<readonly number[]> {
  const { credential } = api;
  if (credential.kind === 'password' || (await isOfGateway(api, credential.token.reveal()))) return [];
  const { user, date } = await caller(api);
  return await recentlyUsed(api, { userId: user.id, date });
}

/**
 * The live tokens of a user that were used within the last minute, by the Date header of an answer: one that
 * was presented in that request is among them. All of the user's tokens where the last use cannot be asked for.
 */
export async function recentlyUsed(
  api: Api,
  { userId, date }: { readonly userId: number; readonly date: string | undefined },
): Promise<readonly number[]> {
  const mine: Query = [['user', String(userId)]];
  const now = Date.parse(date ?? '');
  if (Number.isNaN(now)) return await idsOf(api, mine);
  const since = new Date(now - LAST_USE_WITHIN).toISOString();
  const live: Query = [...mine, ['expires__gt', new Date(now).toISOString()]];
  try {
    return await idsOf(api, [...live, ['last_used__gte', since]]);
  } catch (error) {
    // Where the last use cannot be asked for, any of the caller's tokens may be it.
    if (error instanceof TokenctlError && error.code === 'unsupported') return await idsOf(api, mine);
    throw error;
  }
}

async function idsOf(api: Api, query: Query): Promise<number[]> {
  const ids: number[] = [];
  const listing = { path: 'tokens/', what: 'the list of tokens', query, read: readToken };
  for await (const { id } of pagesOf(api, listing)) ids.push(id);
  return ids;
}
