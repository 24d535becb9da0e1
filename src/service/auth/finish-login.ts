import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ServiceContext } from '../context.ts';
import type { UserRecord } from '../store/users.ts';
import { rotateCsrfToken } from './csrf.ts';
import { startSession } from './session.ts';

/** What no cache may keep: pages around a login. */
export const NO_STORE = 'max-age=0, no-cache, no-store, must-revalidate, private';
/** Where a login ends that says nothing better (specification, section 5.1). */
const PROFILE = '/accounts/profile/';

/** Where to go after a login: a path of this service, never another site; null for anything else. */
export function localPath(next: unknown): string | null {
  if (typeof next !== 'string' || !/^\/(?![/\\])[\x21-\x7e]*$/.test(next)) return null;
  const base = 'http://service.invalid';
  return new URL(next, base).origin === base && !next.includes('\\') ? next : null;
}

/**
 * Starts the session of a user who has shown who he or she is, and sends the browser on, with the headers
 * and cookies of section 5.1 of the specification.
 *
 * @returns Null where the user was deactivated, or the password changed, meanwhile: nothing was sent.
 */
export async function finishLogin(
  service: ServiceContext,
  login: {
    readonly request: FastifyRequest;
    readonly reply: FastifyReply;
    readonly user: UserRecord;
    readonly next: string | null;
  },
): Promise<FastifyReply | null> {
  const { request, reply, user, next } = login;
  if (!(await startSession(service, { request, reply, user }))) return null;
  rotateCsrfToken(request, reply);
  const cookie = { path: '/', sameSite: 'lax', secure: request.protocol === 'https' } as const;
  reply.setCookie('userLoggedIn', 'true', cookie);
  reply.setCookie('current_user', currentUser(user), cookie);
  return reply
    .code(302)
    .header('Location', next ?? PROFILE)
    .header('X-API-Session-Cookie-Name', service.sessionCookieName)
    .type('text/html; charset=utf-8')
    .send('');
}

/** What pages may show of who is logged in. No credential is among it. */
function currentUser(user: UserRecord): string {
  const { id, username, is_superuser, is_system_auditor } = user;
  return JSON.stringify({ id, username, is_superuser, is_system_auditor });
}
