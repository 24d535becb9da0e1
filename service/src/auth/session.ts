import type { Queryable } from '@tokenctl/common/db/database.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ServiceContext } from '../context.ts';
import { ownOrigins } from '../public-url.ts';
import { redirect } from '../request.ts';
import { currentSettings } from '../settings/settings.ts';
import { isEnded } from '../store/provider-events.ts';
import {
  deleteOldestSessions,
  deleteSession,
  extendSession,
  findSession,
  insertSession,
  type ProviderSession,
  type SessionRecord,
} from '../store/sessions.ts';
import { touchLastLogin, type UserRecord } from '../store/users.ts';
import { rememberDevice } from './device-cookie.ts';
import { hashSessionId, randomText, sameText } from './secret-hashes.ts';

const SESSION_ID_LENGTH = 32;
const SESSION_ID = /^[A-Za-z0-9]{16,128}$/;

/** The session of the request's cookie, or null. Clears the cookie of a missing session. */
export async function findRequestSession(
  service: ServiceContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<SessionRecord | null> {
  const cookie = sessionCookie(service, request);
  if (cookie === undefined) return null;
  const session = SESSION_ID.test(cookie)
    ? await findSession(service.database, hashSessionId(cookie), service.now())
    : null;
  if (session === null) clearSessionCookie(service, reply);
  else request.provenUser = session.owner.id;
  return session;
}

/** The session id in the cookie. Clients may put it in double quotes (RFC 6265 §4.1.1). */
function sessionCookie(service: ServiceContext, request: FastifyRequest): string | undefined {
  return request.cookies[service.sessionCookieName]?.replace(/^"(.*)"$/, '$1');
}

/**
 * Extends a session with each request (sliding expiry) and renews its cookie. The row is written at most once
 * a minute, or ten times per session age if that is shorter. Requests with `X-WS-Session-Quiet` are automatic
 * polls and do not extend the session.
 */
export async function renewSession(
  service: ServiceContext,
  exchange: { request: FastifyRequest; reply: FastifyReply; session: SessionRecord },
): Promise<void> {
  const { request, reply, session } = exchange;
  if (request.headers['x-ws-session-quiet'] !== undefined) return;
  const { SESSION_COOKIE_AGE: age } = await currentSettings(service.database);
  const expires = expiry(service.now(), { age, provider: session.provider });
  const slack = Math.min(60, age / 10) * 1000;
  if (Math.abs(expires.getTime() - session.expire_date.getTime()) > slack) {
    await extendSession(service.database, session.session_key, expires);
  }
  const cookie = sessionCookie(service, request);
  if (cookie !== undefined) setSessionCookie(service, { reply, request, id: cookie, age });
}

/** When a session expires: at the end of its age, or earlier if its identity provider says so. */
function expiry(now: Date, { age, provider }: { age: number; provider: ProviderSession | null }): Date {
  const expires = now.getTime() + age * 1000;
  return new Date(Math.min(expires, provider?.ends?.getTime() ?? expires));
}

type Start = 'started' | 'deactivated' | 'ended';

/**
 * Logs a user in, in one transaction: creates a session with a new id (against session fixation), ends the
 * oldest sessions beyond SESSIONS_PER_USER and records the login.
 * @param exchange With the user as read when the password was verified.
 * @returns `deactivated` if the password was changed or the user deactivated in the meantime; `ended` if the
 * identity provider ended the session or the user's access after confirming the login.
 */
async function startSession(
  service: ServiceContext,
  exchange: {
    readonly request: FastifyRequest;
    readonly reply: FastifyReply;
    readonly user: UserRecord;
    readonly provider: ProviderSession | null;
  },
): Promise<Start> {
  const { request, reply, user, provider } = exchange;
  const settings = await currentSettings(service.database);
  const id = randomText(SESSION_ID_LENGTH);
  const at = service.now();
  const previous = sessionCookie(service, request);
  const started = await service.database.transaction(async (transaction): Promise<Start> => {
    if (!(await touchLastLogin(transaction, user, at))) return 'deactivated';
    // The row of the user is locked: a provider's event either came earlier or finds this session.
    if (provider !== null && (await isEnded(transaction, provider))) return 'ended';
    if (previous !== undefined) await deleteSession(transaction, hashSessionId(previous));
    const expires = expiry(at, { age: settings.SESSION_COOKIE_AGE, provider });
    const key = hashSessionId(id);
    await insertSession(transaction, { key, userId: user.id, created: at, expires, provider });
    if (settings.SESSIONS_PER_USER >= 0) {
      await deleteOldestSessions(transaction, { userId: user.id, most: settings.SESSIONS_PER_USER, at });
    }
    return 'started';
  });
  if (started === 'started')
    setSessionCookie(service, { reply, request, id, age: settings.SESSION_COOKIE_AGE });
  return started;
}

/** Creates a session after a user's own password change ended all. Set its cookie with the result after the commit. */
export async function replaceSession(
  service: ServiceContext,
  transaction: Queryable,
  exchange: { request: FastifyRequest; reply: FastifyReply; userId: number },
): Promise<() => void> {
  const { request, reply, userId } = exchange;
  const { SESSION_COOKIE_AGE: age } = await currentSettings(transaction);
  const id = randomText(SESSION_ID_LENGTH);
  const created = service.now();
  const expires = expiry(created, { age, provider: null });
  await insertSession(transaction, { key: hashSessionId(id), userId, created, expires, provider: null });
  return () => setSessionCookie(service, { reply, request, id, age });
}

/** Ends the session of the request's cookie, if any, and clears the cookie. */
export async function endSession(
  service: ServiceContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const cookie = sessionCookie(service, request);
  if (cookie === undefined) return;
  await deleteSession(service.database, hashSessionId(cookie));
  clearSessionCookie(service, reply);
}

function setSessionCookie(
  service: ServiceContext,
  cookie: { reply: FastifyReply; request: FastifyRequest; id: string; age: number },
): void {
  const { reply, request, id, age } = cookie;
  // A cookie's expiry has a four-digit year. SESSION_COOKIE_AGE allows at most 950 years, which fits.
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

/** The token of the request's cookie, or a new one. Sets the cookie of the response. */
export function csrfToken(request: FastifyRequest, reply: FastifyReply): string {
  const cookie = request.cookies[COOKIE];
  const token = cookie !== undefined && TOKEN.test(cookie) ? cookie : randomText(TOKEN_LENGTH);
  setCookie(request, reply, token);
  return token;
}

/** Sets a new token, which invalidates the previous one. Called after a login. */
function rotateCsrfToken(request: FastifyRequest, reply: FastifyReply): void {
  setCookie(request, reply, randomText(TOKEN_LENGTH));
}

/**
 * Why a request is rejected as a possible forgery (CSRF), or null.
 *
 * An Origin header must be this service's. Over https, a request without one must have a Referer of this service.
 * `X-CSRFToken` or the form must repeat the cookie's token, which another site can neither read nor set.
 */
export function csrfProblem(request: FastifyRequest): string | null {
  const own = ownOrigins(request);
  const { origin, referer } = request.headers;
  if (origin !== undefined) {
    if (!own.includes(origin)) return 'Origin checking failed: the request comes from another site.';
  } else if (request.protocol === 'https') {
    if (referer === undefined) return 'Referer checking failed: the Referer is missing.';
    if (!own.includes(originOf(referer)))
      return 'Referer checking failed: the request comes from another site.';
  }
  const cookie = request.cookies[COOKIE];
  if (cookie === undefined || !TOKEN.test(cookie)) return 'CSRF cookie not set.';
  const presented = request.headers['x-csrftoken'] ?? formToken(request);
  if (typeof presented !== 'string' || presented === '') return 'CSRF token missing.';
  return sameText(cookie, presented) ? null : 'CSRF token incorrect.';
}

function setCookie(request: FastifyRequest, reply: FastifyReply, token: string): void {
  reply.setCookie(COOKIE, token, { path: '/', sameSite: 'lax', secure: request.protocol === 'https' });
}

function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : 'null';
}

/** The token in a form. JSON bodies are not searched for one, as on the controller. */
function formToken({ body, headers }: FastifyRequest): unknown {
  if (!headers['content-type']?.startsWith('application/x-www-form-urlencoded')) return undefined;
  return typeof body === 'object' && body !== null && 'csrfmiddlewaretoken' in body
    ? body.csrfmiddlewaretoken
    : undefined;
}

export const NO_STORE = 'max-age=0, no-cache, no-store, must-revalidate, private';
/** The default page after a login (specification, section 5.1). */
const PROFILE = '/accounts/profile/';

/** The maximum length of a path to open after a login, in characters. A request line and its headers share 16 kB. */
const MAX_PATH_LENGTH = 8_000;

/**
 * The path to open after a login, with its query, if it is a path of this service; else null.
 * @param origins This service's origins, under which `next` may be an absolute URL.
 */
export function localPath(next: unknown, origins: readonly string[] = []): string | null {
  if (typeof next !== 'string' || next.length > MAX_PATH_LENGTH || UNUSUAL.test(next)) return null;
  const own = origins.find((origin) => next.startsWith(`${origin}/`));
  const path = own === undefined ? next : next.slice(own.length);
  const base = 'http://service.invalid';
  if (!/^\/(?!\/)/.test(path) || !URL.canParse(path, base)) return null;
  const url = new URL(path, base);
  // A path such as `/..//host` resolves to another host. `URL` also percent-encodes what a header cannot contain.
  return url.origin === base && !url.pathname.startsWith('//')
    ? `${url.pathname}${url.search}${url.hash}`
    : null;
}

/** Browsers interpret control characters and backslashes in URLs in their own ways. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused.
const UNUSUAL = /[\x00-\x1f\x7f\\]/;

/**
 * Starts the session of an authenticated user and redirects the browser, with the headers and cookies of
 * section 5.1 of the specification.
 * @returns Without a response, `deactivated` if the user was deactivated or the password changed in the
 * meantime, and `ended` if the identity provider ended the session or the user's access.
 */
export async function finishLogin(
  service: ServiceContext,
  login: {
    readonly request: FastifyRequest;
    readonly reply: FastifyReply;
    readonly user: UserRecord;
    readonly next: string | null;
    /** Set for a login through an identity provider. */
    readonly provider?: ProviderSession;
  },
): Promise<FastifyReply | Exclude<Start, 'started'>> {
  const { request, reply, user, next, provider = null } = login;
  const started = await startSession(service, { request, reply, user, provider });
  if (started !== 'started') return started;
  rotateCsrfToken(request, reply);
  rememberDevice(service, { request, reply, user });
  const cookie = { path: '/', sameSite: 'lax', secure: request.protocol === 'https' } as const;
  reply.setCookie('userLoggedIn', 'true', cookie);
  reply.setCookie('current_user', currentUser(user), cookie);
  reply.header('X-API-Session-Cookie-Name', service.sessionCookieName);
  return redirect(reply, next ?? PROFILE);
}

/** Public facts about the logged-in user for pages. Contains no credential. */
function currentUser(user: UserRecord): string {
  const { id, username, is_superuser, is_system_auditor } = user;
  return JSON.stringify({ id, username, is_superuser, is_system_auditor });
}
