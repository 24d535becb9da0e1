import { TokenctlError } from '../../domain/errors.ts';
import type { Outcome } from '../../domain/plan.ts';
import { answerFailure, isJson, isUnauthenticated } from './answer-failure.ts';
import type { Api } from './api.ts';
import { MOST_UNDER_WAY } from './connection.ts';
import { Outcomes } from './outcomes.ts';
import type { Answer } from './receiver.ts';
import { isPassing } from './retry.ts';

/**
 * Deletes access tokens, many at a time, and yields what becomes of each. A token that is gone (404) is
 * unchanged: after a broken connection that is how a deletion that went through shows.
 *
 * @throws TokenctlError once no further token can be tried (`credentials_refused`,
 * `target_unreachable`), after every request under way has ended.
 */
export async function* deleteTokens(api: Api, ids: readonly number[]): AsyncIterable<Outcome> {
  const waiting = ids.values();
  const outcomes = new Outcomes();
  let stopped: TokenctlError | null = null;
  const work = async () => {
    for (const tokenId of waiting) {
      if (stopped !== null) return;
      try {
        outcomes.add(await deleteToken(api, tokenId));
      } catch (error) {
        if (!(error instanceof TokenctlError)) throw error;
        stopped ??= error;
        if (error.code !== 'credentials_refused') outcomes.add(unanswered(tokenId, error));
      }
    }
  };
  outcomes.endAfter(Promise.all(Array.from({ length: Math.min(MOST_UNDER_WAY, ids.length) }, work)));
  yield* outcomes.all();
  if (stopped !== null) throw stopped;
}

async function deleteToken(api: Api, tokenId: number): Promise<Outcome> {
  const answer = await api.send({ method: 'DELETE', path: `tokens/${tokenId}/` });
  if (answer.status >= 200 && answer.status <= 299) return { tokenId, result: 'revoked' };
  // A proxy's page says nothing about the token; only the controller's own "not found" does.
  if (answer.status === 404 && isJson(answer)) return { tokenId, result: 'unchanged' };
  if (isUnauthenticated(answer) || isPassing(answer)) throw answerFailure(answer, api, 'the revocation');
  const reason = reasonOf(answer, api);
  return { tokenId, result: 'failed', reason, ...(answer.status === 403 && { refused: true as const }) };
}

function reasonOf(answer: Answer, api: Api): string {
  if (answer.status === 403) return 'this account, or the scope of this token, may not revoke it';
  if (answer.status === 409) return 'the target says that it is in use';
  return answerFailure(answer, api, 'the revocation').message;
}

function unanswered(tokenId: number, error: TokenctlError): Outcome {
  return {
    tokenId,
    result: 'failed',
    reason: `no answer, so that it may be revoked or not: ${error.message}`,
  };
}
