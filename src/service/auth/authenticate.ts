import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ServiceContext } from '../context.ts';
import { badRequest, forbidden } from '../failure.ts';
import type { UserRecord } from '../store/users.ts';
import { parseTarget } from '../target.ts';
import { basicUser } from './basic.ts';
import { bearerOf } from './bearer.ts';
import { csrfProblem } from './csrf.ts';
import { prolongSession, sessionOf } from './session.ts';

/** Who sends a request, and how that was shown. */
export interface Caller {
  readonly user: UserRecord;
  readonly method: 'bearer' | 'session' | 'basic';
  /** The token, where it is one. */
  readonly tokenId: number | null;
  /** Whether the credential may change things: a session and a password may, a token as its scope says. */
  readonly mayWrite: boolean;
}

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Whether a method only reads (RFC 9110 §9.2.1). */
export function isSafe(method: string): boolean {
  return SAFE_METHODS.has(method);
}

/**
 * Finds out who sends a request: by bearer token, then session, then Basic (the controller's precedence; an
 * invalid bearer token falls back to the session). Every failure looks the same: null.
 *
 * @throws RequestFailure 400 for a token in the query string (RFC 9700 §4.3.2), 403 for a session's unsafe
 *   request without its CSRF token.
 */
export async function authenticate(
  service: ServiceContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Caller | null> {
  const { authorization } = request.headers;
  if (new URLSearchParams(parseTarget(request.url).query).has('access_token')) {
    throw badRequest('A token in the query string is not accepted: send it in the Authorization header.');
  }
  const bearer = await bearerOf(service, authorization);
  if (bearer !== null) {
    service.metrics.authenticated('bearer', 'accepted');
    const mayWrite = bearer.scope.split(' ').includes('write');
    return { user: bearer.owner, method: 'bearer', tokenId: bearer.token_id, mayWrite };
  }
  if (/^bearer /i.test(authorization ?? '')) service.metrics.authenticated('bearer', 'refused');
  const session = await sessionOf(service, request, reply);
  if (session !== null) {
    service.metrics.authenticated('session', 'accepted');
    await prolongSession(service, { request, reply, session });
    noteMismatch(service, authorization, session.owner);
    const problem = isSafe(request.method) ? null : csrfProblem(request);
    if (problem !== null) throw forbidden(`CSRF Failed: ${problem}`);
    return { user: session.owner, method: 'session', tokenId: null, mayWrite: true };
  }
  const user = await basicUser(service, { authorization, network: request.network });
  return user === null ? null : { user, method: 'basic', tokenId: null, mayWrite: true };
}

/** Basic credentials of one user beside the session of another are answered as the session's; worth a line. */
function noteMismatch(service: ServiceContext, authorization: string | undefined, owner: UserRecord): void {
  if (authorization === undefined || !/^basic /i.test(authorization)) return;
  const name = Buffer.from(authorization.slice(6), 'base64').toString('utf8').split(':')[0];
  if (name !== owner.username) {
    service.log.warn(
      { session_user: owner.username },
      'Basic credentials of another user than the session: the session counts',
    );
  }
}
