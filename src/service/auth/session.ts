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
import { hashSessionId, randomText, sameText } from './secret-hashes.ts';

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
    ? await findSession(service.database, hashSessionId(cookie), service.now())
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
async function startSession(
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
    if (previous !== undefined) await deleteSession(transaction, hashSessionId(previous));
    const expires = new Date(at.getTime() + settings.SESSION_COOKIE_AGE * 1000);
    await insertSession(transaction, { key: hashSessionId(id), userId: user.id, created: at, expires });
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
  await deleteSession(service.database, hashSessionId(cookie));
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

const COOKIE = 'csrftoken';
const TOKEN_LENGTH = 32;
const TOKEN = /^[A-Za-z0-9]{32,64}$/;

/** The token of the request's cookie, or a new one; the response carries it either way. */
export function csrfToken(request: FastifyRequest, reply: FastifyReply): string {
  const cookie = request.cookies[COOKIE];
  const token = cookie !== undefined && TOKEN.test(cookie) ? cookie : randomText(TOKEN_LENGTH);
  setCookie(request, reply, token);
  return token;
}

/** A new token, as after a login: what was known before it is worth nothing any more. */
function rotateCsrfToken(request: FastifyRequest, reply: FastifyReply): void {
  setCookie(request, reply, randomText(TOKEN_LENGTH));
}

/**
 * Why a request that a browser may have been tricked into must be refused, or null.
 *
 * The Origin, where there is one, is this service; over https a Referer of this service is asked for where
 * there is no Origin; and the token of the cookie comes again in `X-CSRFToken` or the form, which another
 * site can neither read nor set.
 */
export function csrfProblem(request: FastifyRequest): string | null {
  const own = originOf(`${request.protocol}://${request.host}`) ?? '';
  const { origin, referer } = request.headers;
  if (origin !== undefined) {
    if (origin !== own) return 'Origin checking failed: the request comes from another site.';
  } else if (request.protocol === 'https') {
    if (referer === undefined) return 'Referer checking failed: there is no Referer.';
    if (originOf(referer) !== own) return 'Referer checking failed: the request comes from another site.';
  }
  const cookie = request.cookies[COOKIE];
  if (cookie === undefined || !TOKEN.test(cookie)) return 'CSRF cookie not set.';
  const presented = request.headers['x-csrftoken'] ?? formToken(request.body);
  if (typeof presented !== 'string' || presented === '') return 'CSRF token missing.';
  return sameText(cookie, presented) ? null : 'CSRF token incorrect.';
}

function setCookie(request: FastifyRequest, reply: FastifyReply, token: string): void {
  reply.setCookie(COOKIE, token, { path: '/', sameSite: 'lax', secure: request.protocol === 'https' });
}

function originOf(url: string): string | null {
  return URL.canParse(url) ? new URL(url).origin : null;
}

function formToken(body: unknown): unknown {
  return typeof body === 'object' && body !== null && 'csrfmiddlewaretoken' in body
    ? body.csrfmiddlewaretoken
    : undefined;
}

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
