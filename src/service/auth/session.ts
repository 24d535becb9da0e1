import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ServiceContext } from '../context.ts';
import { currentSettings } from '../settings/settings.ts';
import {
  deleteOldestSessions,
  deleteSession,
  extendSession,
  findSession,
  insertSession,
  type SessionRecord,
} from '../store/sessions.ts';
import { touchLastLogin, type UserRecord } from '../store/users.ts';
import { storedSessionKey } from './digest.ts';
import { randomText } from './password.ts';

const SESSION_ID_LENGTH = 32;
const SESSION_ID = /^[A-Za-z0-9]{16,128}$/;

/** The session that the request's cookie names, or null; a cookie that names none is taken back. */
export async function sessionOf(
  service: ServiceContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<SessionRecord | null> {
  const cookie = request.cookies[service.sessionCookieName];
  if (cookie === undefined || cookie === '') return null;
  const session = SESSION_ID.test(cookie)
    ? await findSession(service.database, storedSessionKey(cookie), service.now())
    : null;
  if (session === null) clearSessionCookie(service, reply);
  return session;
}

/**
 * Keeps a session alive: its end moves with each request (sliding expiry), and the response says so. The row
 * is written at most once a minute, or ten times in a session's age where that is shorter. A request with
 * `X-WS-Session-Quiet` is a page polling by itself, and moves nothing.
 */
export async function prolongSession(
  service: ServiceContext,
  exchange: {
    readonly request: FastifyRequest;
    readonly reply: FastifyReply;
    readonly session: SessionRecord;
  },
): Promise<void> {
  const { request, reply, session } = exchange;
  if (request.headers['x-ws-session-quiet'] !== undefined) return;
  const { SESSION_COOKIE_AGE: age } = await currentSettings(service.database);
  const expires = new Date(service.now().getTime() + age * 1000);
  const slack = Math.min(60, age / 10) * 1000;
  if (Math.abs(expires.getTime() - session.expire_date.getTime()) > slack) {
    await extendSession(service.database, session.session_key, expires);
  }
  const cookie = request.cookies[service.sessionCookieName];
  if (cookie !== undefined) setSessionCookie(service, { reply, request, id: cookie, age });
}

/**
 * Logs a user in: a new session with a new id (an id known before the login is worth nothing after it), the
 * oldest sessions beyond SESSIONS_PER_USER ended, the login noted; all or nothing.
 *
 * @param exchange With the user as he or she was when the password was verified.
 * @returns Whether there is a session: not where the password was changed or the user deactivated meanwhile.
 */
export async function startSession(
  service: ServiceContext,
  exchange: { readonly request: FastifyRequest; readonly reply: FastifyReply; readonly user: UserRecord },
): Promise<boolean> {
  const { request, reply, user } = exchange;
  const settings = await currentSettings(service.database);
  const id = randomText(SESSION_ID_LENGTH);
  const at = service.now();
  const previous = request.cookies[service.sessionCookieName];
  const started = await service.database.transaction(async (transaction) => {
    if (!(await touchLastLogin(transaction, user, at))) return false;
    if (previous !== undefined) await deleteSession(transaction, storedSessionKey(previous));
    const expires = new Date(at.getTime() + settings.SESSION_COOKIE_AGE * 1000);
    await insertSession(transaction, { key: storedSessionKey(id), userId: user.id, created: at, expires });
    if (settings.SESSIONS_PER_USER >= 0) {
      await deleteOldestSessions(transaction, {
        userId: user.id,
        most: settings.SESSIONS_PER_USER,
        at,
      });
    }
    return true;
  });
  if (started) setSessionCookie(service, { reply, request, id, age: settings.SESSION_COOKIE_AGE });
  return started;
}

/** Ends the session that the request's cookie names, if any, and takes the cookie back. */
export async function endSession(
  service: ServiceContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const cookie = request.cookies[service.sessionCookieName];
  if (cookie === undefined) return;
  await deleteSession(service.database, storedSessionKey(cookie));
  clearSessionCookie(service, reply);
}

function setSessionCookie(
  service: ServiceContext,
  cookie: {
    readonly reply: FastifyReply;
    readonly request: FastifyRequest;
    readonly id: string;
    readonly age: number;
  },
): void {
  const { reply, request, id, age } = cookie;
  // A cookie's end is a date with four-digit years; SESSION_COOKIE_AGE allows 950 years, which fits.
  reply.setCookie(service.sessionCookieName, id, {
    path: '/',
    httpOnly: true,
    sameSite: 'lax',
    secure: request.protocol === 'https',
    maxAge: age,
    expires: new Date(service.now().getTime() + age * 1000),
  });
  reply.header('Session-Timeout', String(age));
}

function clearSessionCookie(service: ServiceContext, reply: FastifyReply): void {
  reply.setCookie(service.sessionCookieName, '', {
    path: '/',
    sameSite: 'lax',
    maxAge: 0,
    expires: new Date(0),
  });
}
