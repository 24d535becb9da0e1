import { TokenctlError } from '../../domain/errors.ts';
import type { User } from '../../domain/token.ts';
import { jsonOf } from './answer-failure.ts';
import type { Api } from './api.ts';
import { readMe } from './bodies.ts';

/**
 * Who the caller is, and the Date header of that answer (RFC 9110 §6.6.1) where there is one.
 *
 * @throws TokenctlError `target_misbehaved` where the answer does not say, and as requests do.
 */
export async function caller(api: Api): Promise<{ readonly user: User; readonly date: string | undefined }> {
  const answer = await api.send({ method: 'GET', path: 'me/' });
  const user = readMe(jsonOf(answer, api, 'who the caller is'), api.dialect);
  if (user !== null) return { user, date: answer.headers.date };
  throw new TokenctlError('target_misbehaved', `${api.address} does not say who the caller is`);
}
