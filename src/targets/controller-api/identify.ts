import { createHash } from 'node:crypto';
import type { Secret } from '../../core/secret.ts';
import type { Identified } from '../../operations/ports/target.ts';
import { answerFailure, jsonOf } from './answer-failure.ts';
import { readMe } from './bodies.ts';
import type { Connection } from './connection.ts';
import { isBearer } from './credential.ts';
import { ownTokenIds, recentlyUsed } from './own-tokens.ts';

/**
 * Finds out whose token values are by presenting each as a bearer token, one after the other. Which of the
 * owner's tokens it is shows by its last use, which presenting it has set: where others were used within the
 * same minute, it is narrowed down to these. Those found already are told apart from the next.
 *
 * @throws TokenctlError as requests do.
 */
export async function* identifyByTrying(
  connection: Connection,
  values: readonly Secret[],
): AsyncGenerator<Identified, void> {
  let known: ReadonlySet<number> | null = null;
  const found = new Map<string, readonly number[]>();
  for (const [index, value] of values.entries()) {
    const presented = value.reveal();
    if (!isBearer(presented)) continue;
    known ??= new Set(await ownTokenIds(connection));
    const answer = await connection.send({
      method: 'GET',
      path: '/api/v2/me/',
      authorization: `Bearer ${presented}`,
    });
    if (answer.status === 401) continue;
    const what = 'who a presented token belongs to';
    const user = readMe(jsonOf(answer, connection, what));
    if (user === null) throw answerFailure(answer, connection, what);
    const fingerprint = createHash('sha256').update(presented).digest('hex').slice(0, 12);
    const ids: readonly number[] =
      found.get(fingerprint) ??
      (await narrowedDown(connection, { userId: user.id, date: answer.headers.date, known, presented }));
    found.set(fingerprint, ids);
    if (ids.length === 1) known = new Set([...known, ...ids]);
    const { id, username } = user;
    yield { index, kind: 'access_token', live: true, ids, user: { id, username }, fingerprint };
  }
}

/** The tokens that the one just presented can be. */
async function narrowedDown(
  connection: Connection,
  presented: {
    readonly userId: number;
    readonly date: string | undefined;
    readonly known: ReadonlySet<number>;
    readonly presented: string;
  },
): Promise<readonly number[]> {
  const { credential } = connection;
  if (credential.kind === 'token' && credential.token.reveal() === presented.presented) {
    return await ownTokenIds(connection);
  }
  const used = await recentlyUsed(connection, presented);
  const others = used.filter((id) => !presented.known.has(id));
  return others.length > 0 ? others : used;
}
