import { TokenctlError } from '../../core/errors.ts';
import { jsonOf } from './answer-failure.ts';
import { readMe } from './bodies.ts';
import type { Connection } from './connection.ts';
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
 * @returns Their ids; none for a caller with a password.
 */
export async function ownTokenIds(connection: Connection): Promise<readonly number[]> {
  if (connection.credential.kind === 'password') return [];
  const answer = await connection.send({ method: 'GET', path: '/api/v2/me/' });
  const me = readMe(jsonOf(answer, connection, 'who the caller is'));
  if (me === null)
    throw new TokenctlError('target_misbehaved', `${connection.address} does not say who the caller is`);
  const mine: Query = [['user', String(me.id)]];
  const now = Date.parse(answer.headers.date ?? '');
  if (Number.isNaN(now)) return await idsOf(connection, mine);
  const since = new Date(now - LAST_USE_WITHIN).toISOString();
  const live: Query = [...mine, ['expires__gt', new Date(now).toISOString()]];
  try {
    return await idsOf(connection, [...live, ['last_used__gte', since]]);
  } catch (error) {
    // Where the last use cannot be asked for, any of the caller's tokens may be it.
    if (error instanceof TokenctlError && error.code === 'unsupported') return await idsOf(connection, mine);
    throw error;
  }
}

async function idsOf(connection: Connection, query: Query): Promise<number[]> {
  const ids: number[] = [];
  const listing = { path: '/api/v2/tokens/', what: 'the list of tokens', query, read: readToken };
  for await (const { id } of pagesOf(connection, listing)) ids.push(id);
  return ids;
}
