import { answerFailure, isUnauthenticated } from './answer-failure.ts';
import type { Api } from './api.ts';

/**
 * Whether a token is one of the gateway before a component: the gateway lets it through, but the component has it
 * not, and the user's other tokens there say nothing of it. Presenting it counts as a use.
 *
 * @throws TokenctlError as requests do.
 */
export async function isOfGateway({ gateway }: Api, token: string): Promise<boolean> {
  if (gateway === undefined) return false;
  const answer = await gateway.send({ method: 'GET', path: 'me/', authorization: `Bearer ${token}` });
  if (answer.status === 200) return true;
  if (isUnauthenticated(answer)) return false;
  throw answerFailure(answer, gateway, 'who a presented token belongs to');
}
