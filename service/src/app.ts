import { randomUUID } from 'node:crypto';
import cookie from '@fastify/cookie';
import { PRODUCT_HEADER, SERVICE_PRODUCT } from '@tokenctl/common/product.ts';
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify';
import { canSeeEverything } from './access.ts';
import { authenticate } from './auth/authenticate.ts';
import type { ServiceContext } from './context.ts';
import { redirectToSlash } from './endpoint.ts';
import { handleError } from './error-handler.ts';
import { forbidden, unauthenticated } from './failure.ts';
import { limitRefusedRequests } from './limits/limits.ts';
import { shareRequests } from './limits/request-shares.ts';
import { routePattern } from './metrics.ts';
import { oauth2 } from './oauth2/oauth2.ts';
import { serveOpenApi } from './openapi/openapi.ts';
import { serveLogin, serveProfile } from './pages/login.ts';
import { serveWebInterface } from './pages/web-interface.ts';
import { setIssuer } from './public-url.ts';
import { BODY_LIMIT, limitParameters, readForms, readJson, setClientNetworks } from './request.ts';
import { serveAccessLists } from './resources/access-list.ts';
import { serveActivity } from './resources/activity.ts';
import { serveApplications } from './resources/applications.ts';
import { serveCredentialTypes } from './resources/credential-types.ts';
import { serveDashboard } from './resources/dashboard.ts';
import { serveGroups } from './resources/groups.ts';
import { serveInventoryScript } from './resources/inventory-script.ts';
import { serveJobOutput } from './resources/jobs/job-output.ts';
import { serveJobTemplates } from './resources/jobs/job-templates.ts';
import { serveJobs } from './resources/jobs/jobs.ts';
import { serveLaunch } from './resources/jobs/launch.ts';
import { serveRelaunch } from './resources/jobs/relaunch.ts';
import { serveMemberships } from './resources/memberships.ts';
import { serveOrganizations } from './resources/organizations.ts';
import { serveNamedResources } from './resources/resource-kinds.ts';
import { serveRoles } from './resources/roles.ts';
import { serveRoots } from './resources/roots.ts';
import { serveSettings } from './resources/settings.ts';
import { serveTeams } from './resources/teams.ts';
import { serveTokens } from './resources/tokens.ts';
import { serveUsers, serveUserTokens } from './resources/users.ts';
import { currentSettings } from './settings/settings.ts';
import { serveProviderEvents } from './sso/serve-events.ts';
import { serveSso } from './sso/serve-sso.ts';

/** Builds the service's app without listening. */
export async function buildApp(service: ServiceContext): Promise<FastifyInstance> {
  const app = Fastify({
    loggerInstance: service.log as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'request' }),
    // Only from private networks, so that external clients cannot pose as the proxy.
    trustProxy: service.behindProxy ? ['loopback', 'linklocal', 'uniquelocal'] : false,
    ...(service.tls && { https: service.tls }),
    bodyLimit: BODY_LIMIT,
    genReqId: () => randomUUID(),
    // Each route is registered once; `redirectToSlash` distinguishes paths with and without a trailing slash.
    routerOptions: { maxParamLength: 600, ignoreTrailingSlash: true },
    forceCloseConnections: 'idle',
    // A client that needs more than a minute for a request of 1 MiB holds the connection on purpose.
    requestTimeout: 60_000,
    frameworkErrors: handleError,
  }) as unknown as FastifyInstance;
  setClientNetworks(app);
  limitParameters(app);
  await app.register(cookie);
  setIssuer(app, service.publicUrl ?? null);
  addCommonHeaders(app);
  logRequests(app);
  app.setErrorHandler(handleError);
  shareRequests(app, service);
  readJson(app);
  redirectToSlash(app);
  serveOpenApi(app, service);
  serveMetrics(app, service);
  limitRefusedRequests(app, () => performance.now());
  serveTokens(app, service);
  serveUsers(app, service);
  serveOrganizations(app, service);
  serveMemberships(app, service);
  serveTeams(app, service);
  serveRoles(app, service);
  serveAccessLists(app, service);
  serveApplications(app, service);
  serveRoots(app, service);
  serveUserTokens(app, service);
  serveSettings(app, service);
  serveActivity(app, service);
  serveNamedResources(app, service);
  serveGroups(app, service);
  serveCredentialTypes(app, service);
  serveInventoryScript(app, service);
  serveDashboard(app, service);
  serveJobTemplates(app, service);
  serveLaunch(app, service);
  serveRelaunch(app, service);
  serveJobs(app, service);
  serveJobOutput(app, service);
  serveProfile(app, service);
  serveWebInterface(app, service);
  await app.register(async (forms) => {
    readForms(forms);
    serveLogin(forms, service);
  });
  await app.register((scope) => oauth2(scope, service));
  await app.register((scope) => serveSso(scope, service));
  await app.register((scope) => serveProviderEvents(scope, service));
  return app;
}

/** Logs one line per request, without query string and headers, which may contain secrets. */
function logRequests(app: FastifyInstance): void {
  app.addHook('onResponse', (request, reply, done) => {
    request.log.info(
      {
        method: request.method,
        path: request.url.split('?')[0],
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime),
        // The id of the authenticated user. A wrong password authenticates no one.
        user: request.provenUser,
        address: request.ip ?? request.network,
      },
      'answered',
    );
    done();
  });
}

/** Adds the headers of section 5.1 of the specification and the security headers to every response. */
function addCommonHeaders(app: FastifyInstance): void {
  app.addHook('onSend', (request, reply, _payload, done) => {
    reply.headers({
      'X-API-Request-Id': request.id,
      [PRODUCT_HEADER]: SERVICE_PRODUCT,
      'X-API-Total-Time': `${(reply.elapsedTime / 1000).toFixed(3)}s`,
      'Access-Control-Expose-Headers': 'X-API-Request-Id',
      'Content-Language': 'en',
      Vary: reply.getHeader('Vary') ?? 'Cookie, Accept-Language, Origin',
      'Strict-Transport-Security': 'max-age=15768000',
      'X-Content-Type-Options': 'nosniff',
      'X-Frame-Options': 'DENY',
      'Referrer-Policy': 'same-origin',
    });
    if (reply.getHeader('Cache-Control') === undefined) reply.header('Cache-Control', 'no-store');
    done();
  });
}

/**
 * Serves `/metrics` and the controller's `/api/v2/metrics/` to superusers and system auditors, or to everyone
 * if ALLOW_METRICS_FOR_ANONYMOUS_USERS is on.
 */
function serveMetrics(app: FastifyInstance, service: ServiceContext): void {
  app.addHook('onResponse', (request, reply, done) => {
    service.metrics.answered({
      method: request.method,
      route: routePattern(request.routeOptions.url),
      status: reply.statusCode,
      milliseconds: reply.elapsedTime,
    });
    done();
  });
  const summary = 'Metrics of the service, for Prometheus';
  const controllerPath = '/api/v2/metrics/';
  for (const url of ['/metrics', controllerPath]) {
    app.route({
      method: ['GET', 'HEAD'],
      url,
      config: { describes: { summary, produces: 'text/plain', authenticated: true } },
      handler: (request, reply) => sendMetrics(service, request, reply),
    });
  }
}

async function sendMetrics(service: ServiceContext, request: FastifyRequest, reply: FastifyReply) {
  const { ALLOW_METRICS_FOR_ANONYMOUS_USERS } = await currentSettings(service.database);
  if (!ALLOW_METRICS_FOR_ANONYMOUS_USERS) {
    const caller = await authenticate(service, request, reply);
    if (caller === null) throw unauthenticated();
    if (!canSeeEverything(caller.user)) throw forbidden();
  }
  const { type, body } = await service.metrics.text();
  return reply.type(type).send(body);
}
