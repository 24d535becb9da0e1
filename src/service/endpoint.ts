import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify';
import { authenticate, type Caller, isSafe } from './auth/authenticate.ts';
import type { ServiceContext } from './context.ts';
import { forbidden, RequestFailure, unauthenticated } from './failure.ts';
import { carryFormat } from './listing/carry-format.ts';
import { describeEndpoint, type FieldSet } from './listing/fields.ts';
import { parseTarget } from './target.ts';
import './openapi/route-description.ts';

/** A request to an endpoint, with who sends it and what the path names. */
export interface Exchange {
  readonly service: ServiceContext;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly caller: Caller;
  /** The path's parameters by name. */
  readonly params: Readonly<Record<string, string>>;
}

/** Answers one method of an endpoint: the body, or undefined where the reply was sent or has none. */
export type Handler = (exchange: Exchange) => Promise<unknown>;

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** One address of the API with all that can be done there. */
export interface Endpoint {
  /** The path with a slash at the end; parameters as Fastify writes them. */
  readonly path: string;
  readonly name: string;
  readonly description: string;
  /** The fields of what is there, for OPTIONS. */
  readonly fields?: FieldSet;
  /** What OPTIONS says under `actions` where it is not made from `fields`. */
  readonly describe?: (exchange: Exchange) => Record<string, unknown>;
  readonly handlers: Partial<Readonly<Record<Method, Handler>>>;
}

const METHODS: HTTPMethods[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const JSON_TYPES = /(^|,)\s*(application\/json|application\/\*|text\/html|text\/\*|\*\/\*)\s*(;|,|$)/i;

/**
 * Serves an endpoint that asks for authentication, in these steps: content negotiation, authentication,
 * scope, method, handler. Every answer carries `Allow`; the path without its slash redirects to it.
 */
export function serveEndpoint(app: FastifyInstance, service: ServiceContext, endpoint: Endpoint): void {
  const allow = allowed(endpoint);
  app.route({
    method: METHODS,
    url: endpoint.path,
    config: { endpoint },
    onRequest: async (request, reply) => {
      reply.header('Allow', allow);
      requireAcceptable(request);
    },
    handler: async (request, reply) => {
      const caller = await authenticate(service, request, reply);
      if (caller === null) throw unauthenticated();
      requireScope(request, caller);
      const params = (request.params ?? {}) as Record<string, string>;
      const exchange = { service, request, reply, caller, params };
      if (request.method === 'OPTIONS') return describe(endpoint, exchange);
      const handler = endpoint.handlers[request.method === 'HEAD' ? 'GET' : (request.method as Method)];
      if (handler === undefined) throw methodNotAllowed(request.method);
      const body = await handler(exchange);
      if (body === undefined && !reply.sent) return reply.code(204).send();
      return carryFormat(body, request.url);
    },
  });
  redirectWithoutSlash(app, endpoint.path);
}

/** Serves an endpoint that anybody may read. */
export function servePublic(
  app: FastifyInstance,
  endpoint: {
    readonly path: string;
    /** What it is, for the OpenAPI description. */
    readonly summary?: string;
    readonly get: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;
  },
): void {
  app.route({
    method: METHODS,
    url: endpoint.path,
    config: { describes: { summary: endpoint.summary ?? endpoint.path, anonymous: true } },
    onRequest: async (request, reply) => {
      reply.header('Allow', 'GET, HEAD, OPTIONS');
      requireAcceptable(request);
    },
    handler: async (request, reply) => {
      if (!isSafe(request.method)) throw methodNotAllowed(request.method);
      return endpoint.get(request, reply);
    },
  });
  redirectWithoutSlash(app, endpoint.path);
}

/** Redirects a path without its slash at the end to the one with it, query string and all. */
export function redirectWithoutSlash(app: FastifyInstance, path: string): void {
  app.route({
    method: METHODS,
    url: path.replace(/\/$/, ''),
    config: { redirect: true },
    handler: async (request, reply) => {
      const { path: asked, query } = parseTarget(request.url);
      const location = `${asked}/${query === '' ? '' : `?${query}`}`;
      return reply.code(301).header('Location', location).type('text/html; charset=utf-8').send('');
    },
  });
}

function describe(endpoint: Endpoint, exchange: Exchange): Record<string, unknown> {
  const actions = endpoint.describe?.(exchange);
  return { ...describeEndpoint(endpoint, exchange.caller.mayWrite), ...(actions && { actions }) };
}

function allowed(endpoint: Endpoint): string {
  return [...Object.keys(endpoint.handlers), 'HEAD', 'OPTIONS'].join(', ');
}

function requireAcceptable(request: FastifyRequest): void {
  const { accept } = request.headers;
  if (accept !== undefined && accept !== '' && !JSON_TYPES.test(accept)) {
    throw new RequestFailure(406, { detail: 'Could not satisfy the request Accept header.' });
  }
}

function requireScope(request: FastifyRequest, caller: Caller): void {
  if (!isSafe(request.method) && !caller.mayWrite) {
    throw forbidden('The scope of this token is read: it may not change anything.');
  }
}

function methodNotAllowed(method: string): RequestFailure {
  return new RequestFailure(405, { detail: `Method "${method}" not allowed.` });
}
