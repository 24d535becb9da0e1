import type { FastifyInstance } from 'fastify';
import { csrfToken } from '../auth/csrf.ts';
import type { ServiceContext } from '../context.ts';
import { servePublic } from '../endpoint.ts';
import { API } from './related.ts';

const GATEWAY = '/api/gateway/';

const COLLECTIONS = [
  'activitystream',
  'applications',
  'me',
  'organizations',
  'ping',
  'settings',
  'tokens',
  'users',
];

/** `/api/`, `/api/gateway/`, `/api/gateway/v1/` and `/api/gateway/v1/ping/`. */
export function serveGatewayRoots(app: FastifyInstance, service: ServiceContext): void {
  servePublic(app, {
    path: '/api/',
    summary: 'The APIs behind this gateway: none but its own',
    get: async (request, reply) => {
      csrfToken(request, reply);
      return { description: 'Gateway REST API', apis: { gateway: GATEWAY } };
    },
  });
  servePublic(app, {
    path: GATEWAY,
    summary: 'The versions of the API',
    get: () => Promise.resolve({ current_version: API, available_versions: { v1: API } }),
  });
  servePublic(app, {
    path: API,
    summary: 'The collections of the API',
    get: () => Promise.resolve(Object.fromEntries(COLLECTIONS.map((name) => [name, `${API}${name}/`]))),
  });
  servePublic(app, { path: `${API}ping/`, summary: 'What runs here', get: () => ping(service) });
}

async function ping({ database, version, now }: ServiceContext): Promise<Record<string, unknown>> {
  const connected = await database.query('SELECT').then(
    () => true,
    () => false,
  );
  return {
    version,
    // As Python writes an instant.
    pong: now().toISOString().replace('T', ' ').replace('Z', '000'),
    status: connected ? 'good' : 'degraded',
    db_connected: connected,
  };
}
