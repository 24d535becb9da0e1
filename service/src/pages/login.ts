import { escapeHtml } from '@tokenctl/common/text.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type Credentials, userWithPassword } from '../auth/authenticate.ts';
import {
  csrfProblem,
  csrfToken,
  endSession,
  findRequestSession,
  finishLogin,
  localPath,
  NO_STORE,
  renewSession,
} from '../auth/session.ts';
import type { ServiceContext } from '../context.ts';
import type { RouteDescription } from '../endpoint.ts';
import { RequestFailure } from '../failure.ts';
import { loginFormAction } from '../oauth2/authorization-request.ts';
import { ownOrigins } from '../public-url.ts';
import { redirect } from '../request.ts';
import { currentSettings } from '../settings/settings.ts';
import { type LoginProvider, loginProviders } from '../sso/configuration.ts';
import { remainingSession } from '../sso/logout.ts';
import { constantAnswer, sendConstant } from './constant-answer.ts';
import { addressHtml, STYLE, sendPage, textHtml } from './page.ts';
import { sendLoggedOut } from './sso.ts';

/** The login (specification, section 5.1) with GET and POST, and the logout. */
export function serveLogin(app: FastifyInstance, service: ServiceContext): void {
  app.get('/api/login/', { config: { describes: LOGIN } }, (request, reply) =>
    showLogin(service, request, reply),
  );
  app.route({
    // The controller treats PUT as POST.
    method: ['POST', 'PUT'],
    url: '/api/login/',
    config: { describes: LOGIN },
    handler: (request, reply) => logIn(service, request, reply),
  });
  app.route({
    method: ['GET', 'POST'],
    // HEAD is safe (RFC 9110 section 9.2.1), so it must not end a session. It is refused below.
    exposeHeadRoute: false,
    url: '/api/logout/',
    config: { describes: LOGOUT },
    handler: (request, reply) => logOut(service, request, reply),
  });
  app.head('/api/logout/', { config: { describes: LOGOUT } }, (_request, reply) =>
    reply.code(405).header('Allow', 'GET, POST, OPTIONS').send(''),
  );
  describeMethods(app, '/api/login/', 'GET, POST, PUT, HEAD, OPTIONS');
  describeMethods(app, '/api/logout/', 'GET, POST, OPTIONS');
}

/** Answers OPTIONS with the methods, as the controller does. */
function describeMethods(app: FastifyInstance, url: string, allow: string): void {
  app.options(url, { config: { describes: OPTIONS } }, (_request, reply) =>
    reply.headers({ Allow: allow, 'Cache-Control': NO_STORE }).type('text/html; charset=utf-8').send(''),
  );
}

async function showLogin(service: ServiceContext, request: FastifyRequest, reply: FastifyReply) {
  reply.header('Cache-Control', NO_STORE);
  const { accept } = request.headers;
  if (accept !== undefined && !/text\/html|text\/\*|\*\/\*/i.test(accept)) {
    return reply.code(406).type('text/html; charset=utf-8').send('None');
  }
  const session = await findRequestSession(service, request, reply);
  if (session !== null) await renewSession(service, { request, reply, session });
  return loginPage(
    service,
    { request, reply },
    // A browser that opened the login page directly continues to the web interface.
    {
      status: 200,
      next: nextPath(request, request.query) ?? '/',
      problem: null,
      isExpired: parameter(request.query, 'expired') === '1',
    },
  );
}

async function logIn(service: ServiceContext, request: FastifyRequest, reply: FastifyReply) {
  reply.header('Cache-Control', NO_STORE);
  const forgery = csrfProblem(request);
  if (forgery !== null) return forbiddenPage(reply, forgery);
  const next = nextPath(request, request.body) ?? nextPath(request, request.query);
  const { username, password } = fields(request);
  const user = await localUser(service, {
    username,
    password,
    network: request.network,
    request,
    isForm: true,
  });
  if (user instanceof RequestFailure) {
    const problem = 'Too many login attempts. Try again later.';
    return loginPage(
      service,
      { request, reply: reply.headers(user.headers) },
      { status: user.status, next, problem, username },
    );
  }
  const finished = user === null ? 'deactivated' : await finishLogin(service, { request, reply, user, next });
  if (typeof finished !== 'string') return finished;
  const problem = 'Invalid username or password.';
  return loginPage(service, { request, reply }, { status: 401, next, problem, username });
}

/**
 * Ends the session. For a session from an identity provider, a page warns that the provider's session
 * continues. GET logs out too, as on the controller; the cookies are SameSite=Lax, and the service's own
 * pages use POST, which requires the CSRF token.
 */
async function logOut(service: ServiceContext, request: FastifyRequest, reply: FastifyReply) {
  const session = await findRequestSession(service, request, reply);
  const forgery = request.method === 'POST' ? csrfProblem(request) : null;
  if (forgery !== null) {
    if (session !== null) await renewSession(service, { request, reply, session });
    return forbiddenPage(reply, forgery);
  }
  const provider = session?.provider ?? null;
  await endSession(service, request, reply);
  reply.header('Cache-Control', NO_STORE).setCookie('userLoggedIn', 'false', { path: '/', sameSite: false });
  const remaining = provider === null ? null : await remainingSession(service, request, provider);
  if (remaining !== null) return sendLoggedOut(reply, { provider: remaining });
  const next = nextPath(request, request.method === 'POST' ? request.body : request.query);
  return redirect(reply, next ?? '/api/');
}

/** The user who logs in, null for a wrong password, or the failure that refuses another attempt for now. */
async function localUser(service: ServiceContext, credentials: Credentials) {
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
  // The controller's form trims the name, but not the password.
  return { username: text(username).trim(), password: text(password) };
}

/** The path of `next`; null if there is none or it leads to another site. */
function nextPath(request: FastifyRequest, source: unknown): string | null {
  return localPath(
    parameter(source, 'next'),
    ownOrigins(request).filter((origin) => origin !== undefined),
  );
}

function parameter(source: unknown, name: string): unknown {
  return typeof source === 'object' && source !== null && name in source
    ? (source as Record<string, unknown>)[name]
    : undefined;
}

async function loginPage(
  service: ServiceContext,
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
  state: {
    readonly status: number;
    readonly next: string | null;
    readonly problem: string | null;
    readonly username?: string;
    /** Whether the web interface redirected here because the session expired. */
    readonly isExpired?: boolean;
  },
): Promise<FastifyReply> {
  const csrf = csrfToken(request, reply);
  const { status, next, problem, username = '', isExpired = false } = state;
  const client = next === null ? null : await loginFormAction(service, next);
  const { DISABLE_LOCAL_AUTH } = await currentSettings(service.database);
  const local = DISABLE_LOCAL_AUTH ? '' : passwordForm({ csrf, next, username, refused: problem !== null });
  const providers = providerLinks(await loginProviders(service), { next, alone: local === '' });
  return sendPage(reply, {
    status,
    title: 'Log in',
    formAction: client ?? undefined,
    main: `${problem === null ? '' : `<p id="problem" role="alert">${textHtml(problem)}</p>`}
${isExpired ? '<p role="status">Your session has expired. Log in to continue.</p>' : ''}
${local}
${providers}`,
  });
}

function forbiddenPage(reply: FastifyReply, problem: string): FastifyReply {
  return sendPage(reply, {
    status: 403,
    title: 'This request was rejected',
    main: `<p role="alert">Another site could have sent it on your behalf: ${textHtml(problem)}</p>
<p>Open <a href="/api/login/">the login page</a> and try again. Your browser must allow cookies.</p>`,
  });
}

function passwordForm(form: {
  readonly csrf: string;
  readonly next: string | null;
  /** The name entered before. If set, only the password must be entered again. */
  readonly username: string;
  /** Whether the previous input was refused. The page then says so above, under the id `problem`. */
  readonly refused: boolean;
}): string {
  const { csrf, next, username, refused } = form;
  const described = refused ? ' aria-describedby="problem"' : '';
  const name = username === '' ? ' autofocus' : ` value="${escapeHtml(username)}"`;
  return `<form method="post" action="/api/login/">
<input type="hidden" name="csrfmiddlewaretoken" value="${escapeHtml(csrf)}">
${next === null ? '' : `<input type="hidden" name="next" value="${escapeHtml(next)}">`}
<label for="username">Username</label>
<input id="username" name="username" autocomplete="username" autocapitalize="none" spellcheck="false" required${name}${described}>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required${username === '' ? '' : ' autofocus'}${described}>
<button type="submit">Log in</button>
</form>`;
}

/** A link for each provider, in HTML. Links need no script, and users can open them in a new tab. */
function providerLinks(
  providers: readonly LoginProvider[],
  { next, alone }: { next: string | null; alone: boolean },
): string {
  if (providers.length === 0) {
    return alone ? '<p>No login method is available. Contact your administrator.</p>' : '';
  }
  const links = providers.map(({ label, path }) => {
    const separator = path.includes('?') ? '&' : '?';
    const address = next === null ? path : `${path}${separator}next=${encodeURIComponent(next)}`;
    return `<li><a class="button" href="${escapeHtml(address)}">Log in with ${textHtml(label)}</a></li>`;
  });
  return `<nav aria-label="Other ways to log in">
${alone ? '' : '<p class="or">or</p>'}
<ul class="providers">
${links.join('\n')}
</ul>
</nav>`;
}

const LOGIN: RouteDescription = {
  summary: 'Log in',
  description: 'GET shows the page and sets the CSRF cookie; POST starts a session.',
  produces: 'text/html',
  form: {
    username: { description: 'The name of a local user.', required: true },
    password: { description: 'The password.', required: true },
    next: { description: 'Where to go afterwards: a path of this service.' },
    csrfmiddlewaretoken: { description: 'The value of the CSRF cookie, unless X-CSRFToken contains it.' },
  },
  answers: {
    200: 'The login page.',
    302: 'Logged in.',
    401: 'Invalid username or password.',
    403: 'The CSRF token is missing or wrong.',
    429: 'Too many wrong passwords, or too many logins at a time. Retry after the seconds in Retry-After.',
  },
};

const LOGOUT: RouteDescription = {
  summary: 'Log out',
  form: {
    csrfmiddlewaretoken: { description: 'The value of the CSRF cookie.', required: true },
    next: { description: 'Where to go afterwards: a path of this service.' },
  },
  answers: {
    200: "Logged out of a session that an identity provider started. The provider's session may continue.",
    302: 'Logged out.',
    403: 'The CSRF token is missing or wrong.',
  },
};

const OPTIONS: RouteDescription = {
  summary: 'The methods',
  answers: { 200: 'The Allow header lists them.' },
};

const STYLE_SHEET: RouteDescription = { summary: 'Style sheet of the pages', produces: 'text/css' };
const PROFILE: RouteDescription = {
  summary: 'The logged-in user',
  produces: 'text/html',
  authenticated: true,
  answers: { 200: 'The page.', 302: 'To the login.' },
};

/** `/accounts/profile/`, and the style sheet of the pages without a script. */
export function serveProfile(app: FastifyInstance, service: ServiceContext): void {
  const style = constantAnswer('text/css; charset=utf-8', STYLE);
  app.get('/static/service.css', { config: { describes: STYLE_SHEET } }, (request, reply) =>
    sendConstant(request, reply.header('Cache-Control', 'public, max-age=3600'), style),
  );
  app.get('/accounts/profile/', { config: { describes: PROFILE } }, async (request, reply) => {
    const session = await findRequestSession(service, request, reply);
    if (session === null) return reply.redirect(`/api/login/?next=/accounts/profile/`);
    await renewSession(service, { request, reply, session });
    const { owner } = session;
    const token = csrfToken(request, reply);
    const tokens = `/api/v2/users/${owner.id}/tokens/`;
    const role = owner.is_superuser ? 'superuser' : owner.is_system_auditor ? 'system auditor' : 'user';
    return sendPage(reply, {
      status: 200,
      title: `You are logged in as ${owner.username}`,
      main: `<p><a href="/">Go to the start page</a></p>
<dl><dt>Role</dt><dd>${role}</dd><dt>API</dt><dd><a href="/api/v2/">/api/v2/</a></dd>
<dt>Your tokens</dt><dd><a href="${tokens}">${addressHtml(tokens)}</a></dd></dl>
<form method="post" action="/api/logout/">
<input type="hidden" name="csrfmiddlewaretoken" value="${escapeHtml(token)}">
<input type="hidden" name="next" value="/api/login/">
<button type="submit">Log out</button>
</form>`,
    });
  });
}
