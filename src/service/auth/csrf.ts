import type { FastifyReply, FastifyRequest } from 'fastify';
import { sameText } from './digest.ts';
import { randomText } from './password.ts';

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
export function rotateCsrfToken(request: FastifyRequest, reply: FastifyReply): void {
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
