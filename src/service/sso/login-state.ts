import type { FastifyReply, FastifyRequest } from 'fastify';
import { storedForm } from '../auth/digest.ts';
import { randomText } from '../auth/password.ts';
import type { ServiceContext } from '../context.ts';
import { insertLogin, type LoginDetails, type PendingLogin, takeLogin } from '../store/sso-logins.ts';
import type { Backend } from './backends.ts';
import { LOGIN_LIFETIME_MS } from './saml-client.ts';

const LENGTH = 43;
const WELL_FORMED = /^[A-Za-z0-9]{43}$/;

/** A new state: what the provider sends back, and what nobody can guess. */
export function newState(): string {
  return randomText(LENGTH);
}

/**
 * Keeps a login that is about to begin in the database, where every replica finds it, bound to this browser
 * by a cookie: an answer that comes back in another browser is worth nothing there (login CSRF).
 */
export async function keepLogin(
  service: ServiceContext,
  exchange: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  login: { readonly backend: Backend; readonly state: string; readonly details: LoginDetails },
): Promise<void> {
  const { request, reply } = exchange;
  const { backend, state, details } = login;
  const held = browserOf(request);
  const browser = held ?? randomText(LENGTH);
  const started = service.now();
  const expires = new Date(started.getTime() + LOGIN_LIFETIME_MS);
  await insertLogin(service.database, {
    state: storedForm(state),
    browser: storedForm(browser),
    backend,
    details,
    started,
    expires,
  });
  const secure = request.protocol === 'https';
  reply.setCookie(cookieName(request), browser, {
    path: '/',
    httpOnly: true,
    secure,
    // A SAML answer is posted by the provider's page: the cookie has to come along from there.
    sameSite: secure ? 'none' : 'lax',
    maxAge: LOGIN_LIFETIME_MS / 1000,
  });
}

/** Takes the login that an answer belongs to, once; null where there is none in this browser for this backend. */
export async function takeLoginOf(
  { database, now }: ServiceContext,
  request: FastifyRequest,
  answer: { readonly backend: Backend; readonly state: string },
): Promise<Pick<PendingLogin, 'details' | 'started'> | null> {
  const browser = browserOf(request);
  if (browser === null || !WELL_FORMED.test(answer.state)) return null;
  return takeLogin(database, {
    state: storedForm(answer.state),
    browser: storedForm(browser),
    backend: answer.backend,
    at: now(),
  });
}

function browserOf(request: FastifyRequest): string | null {
  const cookie = request.cookies[cookieName(request)];
  return cookie !== undefined && WELL_FORMED.test(cookie) ? cookie : null;
}

/** With the prefix no other host of the same domain can set the cookie (RFC 6265bis, section 4.1.3.2). */
function cookieName(request: FastifyRequest): string {
  return request.protocol === 'https' ? '__Host-sso_login' : 'sso_login';
}
