import { TokenctlError } from '../../core/errors.ts';
import type { User } from '../../core/token.ts';
import { jsonOf } from './answer-failure.ts';
import { readMe } from './bodies.ts';
import type { Connection } from './connection.ts';

/**
 * Who the caller is, and the Date header of that answer (RFC 9110 §6.6.1) where there is one.
 *
 * @throws TokenctlError `target_misbehaved` where the answer does not say, and as requests do.
 */
export async function caller(
  connection: Connection,
): Promise<{ readonly user: User; readonly date: string | undefined }> {
  const answer = await connection.send({ method: 'GET', path: '/api/v2/me/' });
  const user = readMe(jsonOf(answer, connection, 'who the caller is'));
  if (user !== null) return { user, date: answer.headers.date };
  throw new TokenctlError('target_misbehaved', `${connection.address} does not say who the caller is`);
}
