import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type Credentials, userWithPassword } from '../auth/authenticate.ts';
import {
  csrfProblem,
  csrfToken,
  endSession,
  finishLogin,
  localPath,
  NO_STORE,
  prolongSession,
  sessionOf,
} from '../auth/session.ts';
import type { ServiceContext } from '../context.ts';
import { redirectWithoutSlash } from '../endpoint.ts';
import { RequestFailure } from '../failure.ts';
import { loginFormAction } from '../oauth2/authorization-request.ts';
import { currentSettings } from '../settings/settings.ts';
import { loginProviders } from '../sso/configuration.ts';
import type { UserRecord } from '../store/users.ts';
import { LOGIN, LOGOUT } from './login-description.ts';
import { passwordForm, providerLinks } from './login-form.ts';
import { escapeHtml, sendPage } from './page.ts';

/** The login (specification, section 5.1), GET and POST, and the logout. */
export function serveLogin(app: FastifyInstance, service: ServiceContext): void {
  app.get('/api/login/', { config: { describes: LOGIN } }, (request, reply) =>
    showLogin(service, request, reply),
  );
  app.post('/api/login/', { config: { describes: LOGIN } }, (request, reply) =>
    logIn(service, request, reply),
  );
  app.route({
    method: ['GET', 'POST'],
    // HEAD is safe (RFC 9110 section 9.2.1): it must not end a session.
    exposeHeadRoute: false,
    url: '/api/logout/',
    config: { describes: LOGOUT },
    handler: (request, reply) => logOut(service, request, reply),
  });
  redirectWithoutSlash(app, '/api/login/');
  redirectWithoutSlash(app, '/api/logout/');
}

async function showLogin(
  service: ServiceContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  reply.header('Cache-Control', NO_STORE);
  const { accept } = request.headers;
  if (accept !== undefined && !/text\/html|text\/\*|\*\/\*/i.test(accept)) {
    return reply.code(406).type('text/html; charset=utf-8').send('None');
  }
  const session = await sessionOf(service, request, reply);
  if (session !== null) await prolongSession(service, { request, reply, session });
  return loginPage(
    service,
    { request, reply },
    { status: 200, next: localPath(parameter(request.query, 'next')), problem: null },
  );
}

async function logIn(
  service: ServiceContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  reply.header('Cache-Control', NO_STORE);
  const forgery = csrfProblem(request);
  if (forgery !== null) return forbiddenPage(reply, forgery);
  const next = localPath(parameter(request.body, 'next'));
  const user = await localUser(service, { ...fields(request), network: request.network });
  if (user instanceof RequestFailure) {
    const problem = 'Too many attempts with a wrong password. Wait a little, then try again.';
    return loginPage(
      service,
      { request, reply: reply.headers(user.headers) },
      { status: user.status, next, problem },
    );
  }
  const finished = user === null ? null : await finishLogin(service, { request, reply, user, next });
  if (finished !== null) return finished;
  const problem = 'The user name or the password is wrong.';
  return loginPage(service, { request, reply }, { status: 401, next, problem });
}

/**
 * Ends the session. GET does so too, as on the controller; the cookies are SameSite=Lax and the service's own
 * pages use POST, which asks for the CSRF token.
 */
async function logOut(
  service: ServiceContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const forgery = request.method === 'POST' ? csrfProblem(request) : null;
  if (forgery !== null) return forbiddenPage(reply, forgery);
  await endSession(service, request, reply);
  return reply
    .code(302)
    .header('Cache-Control', NO_STORE)
    .header('Location', '/api/')
    .setCookie('userLoggedIn', 'false', { path: '/', sameSite: false })
    .type('text/html; charset=utf-8')
    .send('');
}

/** Who logs in, null for a wrong password, or what refuses another attempt at present. */
async function localUser(
  service: ServiceContext,
  credentials: Credentials,
): Promise<UserRecord | null | RequestFailure> {
  const user = await userWithPassword(service, credentials).catch((error: unknown) => {
    if (error instanceof RequestFailure && error.status === 429) return error;
    throw error;
  });
  if (user instanceof RequestFailure) return user;
  const { DISABLE_LOCAL_AUTH } = await currentSettings(service.database);
  return DISABLE_LOCAL_AUTH ? null : user;
}

function fields(request: FastifyRequest): { username: string; password: string } {
  const body = (request.headers['content-type'] ?? '').startsWith('application/x-www-form-urlencoded')
    ? request.body
    : {};
  const { username, password } = (body ?? {}) as Record<string, unknown>;
  const text = (value: unknown) => (typeof value === 'string' && !value.includes('\0') ? value : '');
  return { username: text(username), password: text(password) };
}

function parameter(source: unknown, name: string): unknown {
  return typeof source === 'object' && source !== null && name in source
    ? (source as Record<string, unknown>)[name]
    : undefined;
}

async function loginPage(
  service: ServiceContext,
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  state: { readonly status: number; readonly next: string | null; readonly problem: string | null },
): Promise<FastifyReply> {
  const csrf = csrfToken(request, reply);
  const { status, next, problem } = state;
  const client = next === null ? null : await loginFormAction(service, next);
  const { DISABLE_LOCAL_AUTH } = await currentSettings(service.database);
  const local = DISABLE_LOCAL_AUTH
    ? ''
    : passwordForm({ action: '/api/login/', csrf, next, refused: problem !== null });
  const providers = providerLinks(await loginProviders(service), { next, alone: local === '' });
  return sendPage(reply, {
    status,
    title: 'Log in',
    ...(client !== null && { formAction: client }),
    main: `${problem === null ? '' : `<p id="problem" role="alert">${escapeHtml(problem)}</p>`}
${local}
${providers}`,
  });
}

function forbiddenPage(reply: FastifyReply, problem: string): FastifyReply {
  return sendPage(reply, {
    status: 403,
    title: 'This request was refused',
    main: `<p role="alert">It could have been sent by another site in your name: ${escapeHtml(problem)}</p>
<p>Open <a href="/api/login/">the login page</a> and try again. Cookies must be allowed for it.</p>`,
  });
}
