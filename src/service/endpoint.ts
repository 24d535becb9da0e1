import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify';
import { authenticate, type Caller, isSafe } from './auth/authenticate.ts';
import type { ServiceContext } from './context.ts';
import { forbidden, RequestFailure, unauthenticated } from './failure.ts';
import { describeEndpoint, type FieldSet } from './listing/fields.ts';
import { parseTarget } from './request.ts';

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

/** What a route that is no {@link Endpoint} says about itself in the OpenAPI description. */
export interface RouteDescription {
  readonly summary: string;
  readonly description?: string;
  /** What it can be asked with, where the route takes more methods only to refuse them. */
  readonly methods?: readonly string[];
  /** The media type of its answers; JSON where it is not said. */
  readonly produces?: 'application/json' | 'application/xml' | 'text/html' | 'text/plain' | 'text/css';
  /** The fields of a form that it takes with POST. */
  readonly form?: Readonly<Record<string, { readonly description: string; readonly required?: true }>>;
  /** The parameters of its query string. */
  readonly query?: Readonly<Record<string, { readonly description: string; readonly required?: true }>>;
  /** Whether anybody may ask. */
  readonly anonymous?: true;
  /** What its answers mean, by status; 200 where it is not said. */
  readonly answers?: Readonly<Record<string, string>>;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The endpoint that the route serves. */
    readonly endpoint?: Endpoint;
    readonly describes?: RouteDescription;
    /** A redirect to the same path with its slash: not worth a description. */
    readonly redirect?: true;
  }
}

const QUERY = '?format=json';

/**
 * Carries `format=json` of a request into the addresses of its answer (`url` and `related`, of a record or of
 * each in a list), as the controller does: who asks for a format gets it again by following a link.
 */
function carryFormat(body: unknown, url: string): unknown {
  if (new URLSearchParams(parseTarget(url).query).get('format') !== 'json' || !isRecord(body)) return body;
  const { results } = body;
  return Array.isArray(results) ? { ...body, results: results.map(inRecord) } : inRecord(body);
}

function inRecord(record: unknown): unknown {
  if (!isRecord(record) || typeof record['url'] !== 'string') return record;
  const { related } = record;
  return {
    ...record,
    url: record['url'] + QUERY,
    ...(isRecord(related) && {
      related: Object.fromEntries(Object.entries(related).map(([name, to]) => [name, inAddress(to)])),
    }),
  };
}

function inAddress(to: unknown): unknown {
  return Array.isArray(to) ? to.map((each) => `${each}${QUERY}`) : `${to}${QUERY}`;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
