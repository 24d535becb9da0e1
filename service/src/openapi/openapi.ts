import type { FastifyInstance, RouteOptions } from 'fastify';
import type { ServiceContext } from '../context.ts';
import type { RouteDescription } from '../endpoint.ts';
import { routePattern } from '../metrics.ts';
import { type ConstantAnswer, constantAnswer, sendConstant } from '../pages/constant-answer.ts';
import { describedOperation, endpointOperation, type Operation, resourceSchemas } from './operations.ts';

type Route = Pick<RouteOptions, 'method' | 'url' | 'config'>;

type Described = Pick<ServiceContext, 'version' | 'sessionCookieName'>;

const DESCRIBED = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/** Serves an OpenAPI 3.1 description of every route of `app`, including routes that are added later. */
export function serveOpenApi(app: FastifyInstance, service: Described): void {
  const routes: Route[] = [];
  let answer: ConstantAnswer | undefined;
  app.addHook('onRoute', (route) => {
    routes.push(route);
  });
  app.get(
    '/api/v2/openapi.json',
    { config: { describes: { summary: 'This description of the API' } } },
    (request, reply) => {
      answer ??= constantAnswer('application/json; charset=utf-8', JSON.stringify(openApi(routes, service)));
      return sendConstant(request, reply.header('Cache-Control', 'public, max-age=60'), answer);
    },
  );
}

function openApi(routes: readonly Route[], { version, sessionCookieName }: Described) {
  const described = routes.filter(({ config }) => config?.page !== true);
  const paths = new Map<string, Record<string, unknown>>();
  for (const route of described) {
    const path = routePattern(route.url);
    const item = paths.get(path) ?? pathItem(path);
    for (const [method, operation] of operations(route)) {
      item[method.toLowerCase()] = { operationId: operationId(method, path), ...operation };
    }
    paths.set(path, item);
  }
  const endpoints = described.flatMap(({ config }) => config?.endpoint ?? []);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Automation service',
      version,
      description:
        `An automation service with the REST API of controller 24.6.1, as far as authentication and tokens ` +
        'go. OPTIONS on each address returns the same metadata in the controller’s format.',
    },
    security: [{ bearer: [] }, { basic: [] }, { session: [] }],
    paths: Object.fromEntries([...paths].sort(([one], [other]) => (one < other ? -1 : 1))),
    components: {
      schemas: resourceSchemas(endpoints),
      responses: RESPONSES,
      securitySchemes: schemes(sessionCookieName),
    },
  };
}

function pathItem(path: string): Record<string, unknown> {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
  const parameters = names.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } }));
  return parameters.length === 0 ? {} : { parameters };
}

function operations({ method, url, config }: Route): [method: string, operation: Operation][] {
  const endpoint = config?.endpoint;
  const served = [method].flat().filter((name) => DESCRIBED.some((known) => known === name));
  if (endpoint !== undefined) {
    return DESCRIBED.filter((name) => endpoint.handlers[name] !== undefined).map((name) => [
      name,
      endpointOperation(endpoint, name),
    ]);
  }
  const described: RouteDescription = config?.describes ?? { summary: url, authenticated: true };
  // A public address is routed for all methods, so that it can answer 405 itself.
  const methods = described.methods ?? (served.length === DESCRIBED.length ? ['GET'] : served);
  return methods.map((name) => [name, describedOperation(described, name)]);
}

function operationId(method: string, path: string): string {
  const words = path.replace(/[{}]/g, '').split(/[^A-Za-z0-9]+/);
  return [method.toLowerCase(), ...words.filter((word) => word !== '')].join('_');
}

const detail = {
  type: 'object',
  description: 'A sentence in `detail`, or messages by field.',
  properties: { detail: { type: 'string' } },
};

const refusal = (description: string, headers: object = {}) => ({
  description,
  ...headers,
  content: { 'application/json': { schema: detail } },
});

const RESPONSES = {
  Invalid: refusal('The request is malformed, or a value in it is not allowed.'),
  Unauthenticated: refusal('Missing or invalid credentials.'),
  Forbidden: refusal('The caller lacks the permission, or its token has scope read.'),
  NotFound: refusal('Not found.'),
  TooMany: refusal('Too many attempts. Retry after the seconds in Retry-After.', {
    headers: { 'Retry-After': { schema: { type: 'integer' } } },
  }),
};

const schemes = (sessionCookieName: string) => ({
  bearer: { type: 'http', scheme: 'bearer', description: 'An OAuth2 access token (RFC 6750).' },
  basic: { type: 'http', scheme: 'basic', description: 'RFC 7617; AUTH_BASIC_ENABLED turns it off.' },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: sessionCookieName,
    description: `From /api/login/; its name is in X-API-Session-Cookie-Name. Changes also require X-CSRFToken.`,
  },
});
