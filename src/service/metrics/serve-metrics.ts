import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { seesEverything } from '../access.ts';
import { authenticate } from '../auth/authenticate.ts';
import type { ServiceContext } from '../context.ts';
import { redirectWithoutSlash } from '../endpoint.ts';
import { forbidden, unauthenticated } from '../failure.ts';
import { routePattern } from '../metrics.ts';
import { currentSettings } from '../settings/settings.ts';

/**
 * `/metrics`, and `/api/v2/metrics/` as the controller has it: for superusers and system auditors, or for
 * anybody where ALLOW_METRICS_FOR_ANONYMOUS_USERS is on.
 */
export function serveMetrics(app: FastifyInstance, service: ServiceContext): void {
  app.addHook('onResponse', async (request, reply) => {
    service.metrics.answered({
      method: request.method,
      route: routePattern(request.routeOptions.url),
      status: reply.statusCode,
      milliseconds: reply.elapsedTime,
    });
  });
  const summary = 'What the service counts about itself, for Prometheus';
  const controllerPath = '/api/v2/metrics/';
  for (const url of ['/metrics', controllerPath]) {
    app.route({
      method: ['GET', 'HEAD'],
      url,
      config: { describes: { summary, produces: 'text/plain' } },
      handler: (request, reply) => answer(service, request, reply),
    });
  }
  redirectWithoutSlash(app, controllerPath);
}

async function answer(
  service: ServiceContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { ALLOW_METRICS_FOR_ANONYMOUS_USERS } = await currentSettings(service.database);
  if (!ALLOW_METRICS_FOR_ANONYMOUS_USERS) {
    const caller = await authenticate(service, request, reply);
    if (caller === null) throw unauthenticated();
    if (!seesEverything(caller.user)) throw forbidden();
  }
  const { type, body } = await service.metrics.text();
  return reply.type(type).send(body);
}
