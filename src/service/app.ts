import { randomUUID } from 'node:crypto';
import cookie from '@fastify/cookie';
import formbody from '@fastify/formbody';
import Fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify';
import { csrfToken } from './auth/session.ts';
import type { ServiceContext } from './context.ts';
import { handleError } from './error-handler.ts';
import { noteClientNetworks } from './limits/client-network.ts';
import { limitRefusals } from './limits/limits.ts';
import { serveMetrics } from './metrics/serve-metrics.ts';
import { oauth2 } from './oauth2/oauth2.ts';
import { serveOpenApi } from './openapi/openapi.ts';
import { serveLogin, serveProfile } from './pages/login.ts';
import { sendPage } from './pages/page.ts';
import { BODY_LIMIT, readJson } from './request.ts';
import { serveActivity } from './resources/activity.ts';
import { serveApplications } from './resources/applications.ts';
import { serveJobTemplates } from './resources/job-templates.ts';
import { serveJobOutput, serveJobs, serveLaunch } from './resources/jobs.ts';
import { serveMemberships } from './resources/memberships.ts';
import { serveNamedResources } from './resources/named-resources.ts';
import { serveOrganizations } from './resources/organizations.ts';
import { serveRoots } from './resources/roots.ts';
import { serveSettings } from './resources/settings.ts';
import { serveTokens } from './resources/tokens.ts';
import { serveUsers, serveUserTokens } from './resources/users.ts';
import { serveSso } from './sso/serve-sso.ts';

/** Puts the service together, without listening. */
export async function buildApp(service: ServiceContext): Promise<FastifyInstance> {
  const app = Fastify({
    loggerInstance: service.log as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true }),
    // Believed of a proxy in a private network only, so that no client can pretend to be one from outside.
    trustProxy: service.behindProxy ? ['loopback', 'linklocal', 'uniquelocal'] : false,
    ...(service.tls && { https: service.tls }),
    bodyLimit: BODY_LIMIT,
    genReqId: () => randomUUID(),
    routerOptions: { maxParamLength: 600 },
    forceCloseConnections: 'idle',
    // Nobody takes a minute to send a request of a megabyte but to keep the connection.
    requestTimeout: 60_000,
    frameworkErrors: handleError,
  }) as unknown as FastifyInstance;
  await app.register(cookie);
  noteClientNetworks(app);
  addCommonHeaders(app);
  logRequests(app);
  app.setErrorHandler(handleError);
  app.setNotFoundHandler((request, reply) => {
    if (!request.url.startsWith('/api/')) csrfToken(request, reply);
    const main = '<p>There is nothing at this address. The API begins at <a href="/api/">/api/</a>.</p>';
    return sendPage(reply, { status: 404, title: 'Not found', main });
  });
  readJson(app);
  serveOpenApi(app, service);
  serveMetrics(app, service);
  limitRefusals(app, () => performance.now());
  serveTokens(app, service);
  serveUsers(app, service);
  serveOrganizations(app, service);
  serveMemberships(app, service);
  serveApplications(app, service);
  serveRoots(app, service);
  serveUserTokens(app, service);
  serveSettings(app, service);
  serveActivity(app, service);
  serveNamedResources(app, service);
  serveJobTemplates(app, service);
  serveLaunch(app, service);
  serveJobs(app, service);
  serveJobOutput(app, service);
  serveProfile(app, service);
  await app.register(async (forms) => {
    await forms.register(formbody);
    serveLogin(forms, service);
  });
  await app.register((scope) => oauth2(scope, service));
  await app.register((scope) => serveSso(scope, service));
  return app;
}

/** One line a request: what and how it went. Neither query strings nor headers, which may hold secrets. */
function logRequests(app: FastifyInstance): void {
  app.addHook('onResponse', async (request, reply) => {
    request.log.info(
      {
        request: request.id,
        method: request.method,
        path: request.url.split('?')[0],
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime),
      },
      'answered',
    );
  });
}

/** The headers of section 5.1 of the specification that every answer carries, and those that protect it. */
function addCommonHeaders(app: FastifyInstance): void {
  app.addHook('onSend', async (request, reply) => {
    reply.headers({
      'X-API-Request-Id': request.id,
      'X-API-Total-Time': `${(reply.elapsedTime / 1000).toFixed(3)}s`,
      'Access-Control-Expose-Headers': 'X-API-Request-Id',
      'Content-Language': 'en',
      Vary: 'Cookie, Accept-Language, Origin',
      'Strict-Transport-Security': 'max-age=15768000',
      'X-Content-Type-Options': 'nosniff',
      'X-Frame-Options': 'DENY',
      'Referrer-Policy': 'same-origin',
    });
    if (reply.getHeader('Cache-Control') === undefined) reply.header('Cache-Control', 'no-store');
  });
}
