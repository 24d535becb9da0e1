import { createHash } from 'node:crypto';
import type { Secret } from '../../domain/secret.ts';
import type { Identified } from '../../operations/ports/target.ts';
import { answerFailure, isUnauthenticated, jsonOf } from './answer-failure.ts';
import type { Api } from './api.ts';
import { readMe } from './bodies.ts';
import { isBearer } from './credential.ts';
import { isOfGateway } from './gateway-token.ts';
import { ownTokenIds, recentlyUsed } from './own-tokens.ts';

/**
 * Finds out whose token values are by presenting each as a bearer token, one after the other. Which of the
 * owner's tokens it is shows by its last use, which presenting it has set: where others were used within the
 * same minute, it is narrowed down to these. Those found already are told apart from the next.
 *
 * @throws TokenctlError as requests do.
 */
export async function* identifyByTrying(
  api: Api,
  values: readonly Secret[],
): AsyncGenerator<Identified, void> {
  let known: ReadonlySet<number> | null = null;
  const found = new Map<string, readonly number[]>();
  for (const [index, value] of values.entries()) {
    const presented = value.reveal();
    if (!isBearer(presented)) continue;
    known ??= new Set(await ownTokenIds(api));
    if (await isOfGateway(api, presented)) continue;
    const answer = await api.send({
      method: 'GET',
      path: 'me/',
      authorization: `Bearer ${presented}`,
    });
    if (isUnauthenticated(answer)) continue;
    const what = 'who a presented token belongs to';
    const user = readMe(jsonOf(answer, api, what), api.dialect);
    if (user === null) throw answerFailure(answer, api, what);
    const fingerprint = createHash('sha256').update(presented).digest('hex').slice(0, 12);
    const ids: readonly number[] =
      found.get(fingerprint) ??
      (await narrowedDown(api, { userId: user.id, date: answer.headers.date, known, presented }));
    found.set(fingerprint, ids);
    if (ids.length === 1) known = new Set([...known, ...ids]);
    const { id, username } = user;
    yield { index, kind: 'access_token', live: true, ids, user: { id, username }, fingerprint };
  }
}

/** The tokens that the one just presented can be. */
async function narrowedDown(
  api: Api,
  presented: {
    readonly userId: number;
    readonly date: string | undefined;
    readonly known: ReadonlySet<number>;
    readonly presented: string;
  },
): Promise<readonly number[]> {
  const { credential } = api;
  if (credential.kind === 'token' && credential.token.reveal() === presented.presented) {
    return await ownTokenIds(api);
  }
  const used = await recentlyUsed(api, presented);
  const others = used.filter((id) => !presented.known.has(id));
  return others.length > 0 ? others : used;
}
