import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { knownDevice, namedUser } from '../auth/device-cookie.ts';
import { finishLogin, NO_STORE } from '../auth/session.ts';
import type { ServiceContext } from '../context.ts';
import type { RouteDescription } from '../endpoint.ts';
import { failureOf, type RequestError } from '../error-handler.ts';
import { forbidden, tooManyRequests } from '../failure.ts';
import { Buckets } from '../limits/limits.ts';
import { errorPath, sendSsoError, sendSsoFailure } from '../pages/sso.ts';
import { readForms, redirect } from '../request.ts';
import { recordSuccess } from '../store/sso-logins.ts';
import { findUser } from '../store/users.ts';
import { type Backend, backendOf, SsoFailure } from './backends.ts';
import { configurationDigest, ssoConfiguration } from './configuration.ts';
import { linkedUser } from './link-user.ts';
import { beginLogin, type Completed, callbackUrl, completeLogin, requireConfiguration } from './login.ts';
import { logoutUrl, serveSamlLogout } from './logout.ts';
import { samlMetadata } from './saml-client.ts';
import { completeSaml } from './saml-login.ts';
import { SamlThread } from './saml-thread.ts';

/** Started but not completed logins per network: 300, then two a second. Each is stored for ten minutes. */
const STARTED_LIMIT = { burst: 300, refillSeconds: 0.5 };
/** Logins that a user's known browsers may start after their network used up its allowance: 20, then one every 30 s. */
const DEVICE_STARTED_LIMIT = { burst: 20, refillSeconds: 30 };
/**
 * Refused responses per network: 100, then one every three seconds. There are separate counts for responses to logins
 * that were started here, for those without a request, which some identity providers may send, and for log lines.
 */
const REFUSED_LIMIT = { burst: 100, refillSeconds: 3 };

/** The paths of a login, which only pages open. */
const LOGIN_PATH = /^\/sso\/(login|complete)\//;

interface Visit {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

type SamlAdmission = Parameters<typeof completeSaml>[2];

interface Limits {
  /** For responses to logins that were started here. */
  readonly refused: Buckets;
  /** For responses without a request, if an identity provider may start logins. */
  readonly unsolicited: Buckets;
  /** For requests that belong to no login. Only their log lines are limited. */
  readonly foreign: Buckets;
}

/**
 * Single sign-on, a Fastify plugin: `/sso/login/…`, `/sso/complete/…`, `/sso/metadata/saml/`, `/sso/logout/saml/` and
 * `/sso/error/`.
 *
 * Any web page can make a browser send requests to these paths, for example for an image. A response that belongs to
 * no login of this browser is refused after one lookup by its key, and does not count. A request that a browser sends
 * for an image, a script or a frame is refused without a lookup (Fetch Metadata, `Sec-Fetch-Dest`).
 */
export async function serveSso(app: FastifyInstance, service: ServiceContext): Promise<void> {
  const buckets = (limit: typeof STARTED_LIMIT) => new Buckets(limit, () => performance.now());
  const begun = buckets(STARTED_LIMIT);
  const begunOnDevice = buckets(DEVICE_STARTED_LIMIT);
  const limits: Limits = {
    refused: buckets(REFUSED_LIMIT),
    unsolicited: buckets(REFUSED_LIMIT),
    foreign: buckets(REFUSED_LIMIT),
  };
  const thread = new SamlThread();
  app.addHook('onClose', () => thread.end());
  readForms(app);
  app.setErrorHandler((error: RequestError, request, reply) =>
    sendSsoFailure(reply, failureOf(error, request)),
  );
  app.addHook('onRequest', async (request, reply) => {
    reply.header('Cache-Control', NO_STORE);
    const destination = request.headers['sec-fetch-dest'];
    if (!LOGIN_PATH.test(request.url) || destination === undefined) return;
    if (destination !== 'document') throw forbidden('A login must be opened as a separate page.');
  });
  app.addHook('onSend', async (_request, reply) => {
    // The URL of this page contains a code or a state.
    if (reply.statusCode === 302) reply.header('Referrer-Policy', 'no-referrer');
  });
  app.get(
    '/sso/login/:backend/',
    { config: { describes: BEGIN }, exposeHeadRoute: false },
    (request, reply) =>
      orErrorPage(service, { request, reply }, limits, async () => {
        await startLogin(service, request, { network: begun, device: begunOnDevice });
        const { next, idp } = request.query as Record<string, unknown>;
        return beginLogin(service, { request, reply }, { backend: backendIn(request), next, idp });
      }),
  );
  const complete = (visit: Visit, verify: (admission: SamlAdmission) => Promise<Completed>) =>
    orErrorPage(service, visit, limits, async () => {
      let counted: Buckets | null = null;
      const admission = (to: Buckets) => () => {
        const wait = to.wait(visit.request.network);
        if (wait > 0) throw tooManyRequests('Too many logins failed.', wait);
        counted = to;
      };
      try {
        const admit = admission(limits.refused);
        const completed = await verify({ admit, admitUnsolicited: admission(limits.unsolicited) });
        const finished = await logIn(service, visit, completed);
        // A network with many users who log in is not slowed down.
        begun.giveBack(visit.request.network, 1);
        return finished;
      } catch (error) {
        if (error instanceof SsoFailure) (counted as Buckets | null)?.take(visit.request.network);
        throw error;
      }
    });
  app.get(
    '/sso/complete/:backend/',
    { config: { describes: COMPLETE }, exposeHeadRoute: false },
    (request, reply) =>
      complete({ request, reply }, ({ admit }) => {
        const backend = backendIn(request);
        if (backend === 'saml') throw new SsoFailure('no_such_login', 'SAML responses are posted');
        return completeLogin(service, request, { backend, admit });
      }),
  );
  app.post('/sso/complete/saml/', { config: { describes: COMPLETE_SAML } }, (request, reply) =>
    complete({ request, reply }, (admission) => completeSaml({ ...service, thread }, request, admission)),
  );
  app.get('/sso/metadata/saml/', { config: { describes: METADATA } }, (request, reply) =>
    orErrorPage(service, { request, reply }, limits, async () => {
      const configuration = await requireConfiguration(service, 'saml');
      const xml = await samlMetadata(configuration, {
        callbackUrl: callbackUrl(request, 'saml'),
        logoutUrl: logoutUrl(request),
      });
      return reply.type('application/xml; charset=utf-8').send(xml);
    }),
  );
  serveSamlLogout(app, service, (request, reply, answer) =>
    orErrorPage(service, { request, reply }, limits, answer),
  );
  app.get('/sso/error/', { config: { describes: ERROR } }, (request, reply) => {
    const { reason, request: id } = request.query as Record<string, unknown>;
    return sendSsoError(reply, reason, id);
  });
}

/** Links the account, starts the session, and records that the provider works. */
async function logIn(service: ServiceContext, visit: Visit, completed: Completed): Promise<FastifyReply> {
  const { configuration, identity, next, session = { details: {}, ends: null } } = completed;
  const { backend } = configuration;
  const { rules } = await ssoConfiguration(service, service.database);
  const { withheld = [] } = identity;
  if (withheld.length > 0) {
    visit.request.log.warn(
      { backend, claims: withheld.map((name) => name.slice(0, 100)).slice(0, 20) },
      'the provider did not send all of its claims, so roles that depend on them stay unchanged',
    );
  }
  const user = await linkedUser(service, identity, rules(backend));
  const provider = { backend, ...session };
  const finished = await finishLogin(service, { ...visit, user, next, provider });
  if (finished === 'deactivated')
    throw new SsoFailure('deactivated', 'the user was deactivated during the login');
  if (finished === 'ended')
    throw new SsoFailure('refused_by_provider', 'the provider ended the session or the access of the user');
  service.metrics.authenticated('sso', 'accepted');
  await recordSuccess(service.database, {
    backend,
    configuration: configurationDigest(configuration),
    at: service.now(),
  });
  return finished;
}

/**
 * Counts a started login for its network or, once that used up its allowance, for the user who logged in
 * before in this browser. Images on another site's page do not send the cookie for this (SameSite=Lax).
 * @throws RequestFailure 429
 */
async function startLogin(
  service: ServiceContext,
  request: FastifyRequest,
  { network, device }: { network: Buckets; device: Buckets },
): Promise<void> {
  const id = network.wait(request.network) > 0 ? namedUser(request) : null;
  const user = id === null ? null : await findUser(service.database, id);
  const known = user === null ? null : knownDevice(service, request, user);
  const [buckets, key] = known === null ? [network, request.network] : [device, String(known.userId)];
  const wait = buckets.wait(key);
  if (wait > 0) throw tooManyRequests('Too many logins were started.', wait);
  buckets.take(key);
}

function backendIn(request: FastifyRequest): Backend {
  const { backend: name } = request.params as { readonly backend?: string };
  const backend = backendOf(name);
  if (backend === null) throw new SsoFailure('not_configured', 'unknown backend');
  return backend;
}

/** Redirects a failed login to the error page. The log has the cause under the request's id, which the page shows. */
async function orErrorPage(
  service: ServiceContext,
  { request, reply }: Visit,
  { foreign }: Limits,
  answer: () => Promise<FastifyReply> | FastifyReply,
): Promise<FastifyReply> {
  try {
    return await answer();
  } catch (error) {
    if (!(error instanceof SsoFailure)) throw error;
    const { reason, message } = error;
    service.metrics.authenticated('sso', 'refused');
    // Failures of logins that were started here have their own limits.
    const isForeign = reason === 'no_such_login' || !LOGIN_PATH.test(request.url);
    const isLogged = !isForeign || foreign.wait(request.network) === 0;
    if (isForeign) foreign.take(request.network);
    if (isLogged) request.log.warn({ reason, detail: message }, 'a login through a provider failed');
    return redirect(reply, errorPath(reason, request.id));
  }
}

const BEGIN: RouteDescription = {
  summary: 'Log in through an identity provider',
  description: 'Starts a login with google-oauth2, azuread-oauth2, oidc, github or saml.',
  produces: 'text/html',
  query: {
    next: { description: 'The path of this service to continue at after the login.' },
    idp: { description: 'SAML only: the short name of the identity provider.' },
  },
  answers: {
    302: 'Redirects to the provider, or to /sso/error/.',
    429: 'Too many logins were started from one network.',
  },
};

const COMPLETE: RouteDescription = {
  summary: 'Complete a login through an identity provider',
  produces: 'text/html',
  query: {
    state: { description: 'The state that was sent when the login started.' },
    code: { description: 'The authorization code.' },
  },
  answers: {
    302: 'Redirects to the requested page, or to /sso/error/.',
    429: 'Too many logins from one network failed.',
  },
};

const COMPLETE_SAML: RouteDescription = {
  summary: 'Complete a login through a SAML identity provider',
  description: 'The assertion consumer service (SAML 2.0) with the POST binding.',
  produces: 'text/html',
  form: {
    SAMLResponse: { description: 'The response, in base64.', required: true },
    RelayState: { description: 'The state that was sent with the request.' },
  },
  answers: {
    302: 'Redirects to the requested page, or to /sso/error/.',
    429: 'Too many logins from one network failed.',
  },
};

const METADATA: RouteDescription = {
  summary: 'The SAML metadata of this service',
  produces: 'application/xml',
  answers: { 200: 'The metadata.', 302: 'Redirects to /sso/error/ if SAML is not configured.' },
};

const ERROR: RouteDescription = {
  summary: 'Why a login through an identity provider failed',
  produces: 'text/html',
  query: {
    reason: { description: 'The reason for the failure.' },
    request: { description: 'The ID of the failed request, which the page shows.' },
  },
  answers: { 400: 'The page.', 403: 'The page.', 500: 'The page.', 502: 'The page.' },
};
