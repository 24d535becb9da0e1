import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify';
import { authenticate, type Caller, isSafe } from './auth/authenticate.ts';
import type { ServiceContext } from './context.ts';
import { forbidden, notFound, RequestFailure, unauthenticated } from './failure.ts';
import { type Field, type FieldSet, MAX_INTEGER } from './listing/fields.ts';
import { lastValue } from './listing/filters.ts';
import { type ConstantAnswer, constantAnswer, sendConstant } from './pages/constant-answer.ts';
import { parseTarget } from './request.ts';

/** An authenticated request to an endpoint. */
export interface Exchange {
  readonly service: ServiceContext;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly caller: Caller;
  readonly params: Readonly<Record<string, string>>;
}

/** Handles one method of an endpoint. Returns the body, or undefined if the reply has no body or was already sent. */
export type Handler = (exchange: Exchange) => Promise<unknown>;

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface Endpoint {
  /** With a trailing slash and Fastify's parameters. */
  readonly path: string;
  readonly name: string;
  readonly description: string;
  /** For OPTIONS. */
  readonly fields?: FieldSet;
  /** The role fields of its objects, for OPTIONS: clients learn from them which roles exist. */
  readonly objectRoles?: readonly string[];
  /** `own` if the endpoint reads the parameter `format` itself. Otherwise it serves JSON and refuses other formats. */
  readonly formats?: 'own';
  /** POST also accepts the id of an existing object. OPTIONS says so, because clients check it. */
  readonly attaches?: true;
  /** Whether the caller may create or change here: only then does OPTIONS describe POST and PUT. By default true. */
  readonly allows?: (exchange: Exchange) => boolean | Promise<boolean>;
  /** The `actions` of OPTIONS if they are not derived from `fields`. */
  readonly describe?: (exchange: Exchange) => Record<string, unknown>;
  readonly handlers: Partial<Readonly<Record<Method, Handler>>>;
}

/** The OpenAPI description of a route that is not an {@link Endpoint}. */
export interface RouteDescription {
  readonly summary: string;
  readonly description?: string;
  /** The supported methods, if the route accepts others only to reject them. */
  readonly methods?: readonly string[];
  /** The media type of its responses; JSON by default. */
  readonly produces?: 'application/json' | 'application/xml' | 'text/html' | 'text/plain' | 'text/css';
  /** The fields of its form (POST). */
  readonly form?: Readonly<Record<string, { readonly description: string; readonly required?: true }>>;
  readonly query?: Readonly<Record<string, { readonly description: string; readonly required?: true }>>;
  /** Whether the route needs authentication. */
  readonly authenticated?: true;
  /** The meaning of its responses by status. By default, only 200. */
  readonly answers?: Readonly<Record<string, string>>;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    readonly endpoint?: Endpoint;
    readonly describes?: RouteDescription;
    /** A page or file of the web interface, which OpenAPI does not describe. */
    readonly page?: true;
  }
}

const METHODS: HTTPMethods[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const JSON_TYPES = /(^|,)\s*(application\/json|application\/\*|text\/html|text\/\*|\*\/\*)\s*(;|,|$)/i;

/** Serves an endpoint with authentication, scope, method and content negotiation. Every response has `Allow`. */
export function serveEndpoint(app: FastifyInstance, service: ServiceContext, endpoint: Endpoint): void {
  const allow = methodsOf(endpoint);
  const metadata = new Map<boolean, ConstantAnswer>();
  app.route({
    method: METHODS,
    url: endpoint.path,
    config: { endpoint },
    onRequest: (request, reply, done) => {
      reply.header('Allow', allow);
      requireAcceptable(request);
      if (endpoint.formats !== 'own') requireFormat(request);
      done();
    },
    handler: async (request, reply) => {
      const caller = await authenticate(service, request, reply);
      if (caller === null) throw unauthenticated();
      requireScope(request, caller);
      const params = (request.params ?? {}) as Record<string, string>;
      const exchange = { service, request, reply, caller, params };
      if (request.method === 'OPTIONS') {
        const mayWrite = caller.mayWrite && (await allowed(endpoint, exchange));
        if (endpoint.describe !== undefined) {
          return { ...describeEndpoint(endpoint, mayWrite), actions: endpoint.describe(exchange) };
        }
        const answer = metadata.get(mayWrite) ?? jsonAnswer(describeEndpoint(endpoint, mayWrite));
        metadata.set(mayWrite, answer);
        return sendConstant(request, reply, answer);
      }
      const handler = endpoint.handlers[request.method === 'HEAD' ? 'GET' : (request.method as Method)];
      if (handler === undefined) throw methodNotAllowed(request.method);
      const body = await handler(exchange);
      if (body === undefined && !reply.sent) return reply.code(204).send();
      return carryFormat(body, request, reply);
    },
  });
}

/** Serves a public, read-only endpoint. */
export function servePublic(
  app: FastifyInstance,
  endpoint: {
    readonly path: string;
    /** For the OpenAPI description. */
    readonly summary?: string;
    readonly get: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;
  },
): void {
  app.route({
    method: METHODS,
    url: endpoint.path,
    config: { describes: { summary: endpoint.summary ?? endpoint.path } },
    onRequest: async (request, reply) => {
      reply.header('Allow', 'GET, HEAD, OPTIONS');
      requireAcceptable(request);
      requireFormat(request);
    },
    handler: async (request, reply) => {
      if (!isSafe(request.method)) throw methodNotAllowed(request.method);
      const { path, summary = path } = endpoint;
      if (request.method === 'OPTIONS')
        return describeEndpoint({ name: summary, description: summary }, false);
      return endpoint.get(request, reply);
    },
  });
}

/**
 * Redirects a path without a trailing slash to its route with one, and keeps the query string. Expects that
 * the router ignores trailing slashes. Routes without a trailing slash are not redirected.
 */
export function redirectToSlash(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    const { url: route = '' } = request.routeOptions;
    const { path, query } = parseTarget(request.url);
    if (route === '' || route.endsWith('/') === path.endsWith('/')) return done();
    if (path.endsWith('/')) return reply.callNotFound();
    const location = `${path}/${query === '' ? '' : `?${query}`}`;
    reply.code(301).header('Location', location).type('text/html; charset=utf-8').send('');
  });
}

/** A caller may not change an object that is missing or hidden. */
async function allowed({ allows }: Endpoint, exchange: Exchange): Promise<boolean> {
  try {
    return (await allows?.(exchange)) ?? true;
  } catch (error) {
    if (error instanceof RequestFailure && [403, 404].includes(error.status)) return false;
    throw error;
  }
}

function jsonAnswer(value: unknown): ConstantAnswer {
  return constantAnswer('application/json; charset=utf-8', JSON.stringify(value));
}

function methodsOf(endpoint: Endpoint): string {
  return [...Object.keys(endpoint.handlers), 'HEAD', 'OPTIONS'].join(', ');
}

function requireAcceptable(request: FastifyRequest): void {
  const { accept } = request.headers;
  if (accept !== undefined && accept !== '' && !JSON_TYPES.test(accept)) {
    throw new RequestFailure(406, { detail: 'Could not satisfy the request Accept header.' });
  }
}

/** Refuses a `format` that the controller refuses too. `api` is its page for browsers; here it is JSON. */
function requireFormat(request: FastifyRequest): void {
  const { query } = parseTarget(request.url);
  if (query === '') return;
  const format = lastValue(new URLSearchParams(query), 'format');
  if (format !== null && !['', 'json', 'api'].includes(format)) throw notFound();
}

function requireScope(request: FastifyRequest, caller: Caller): void {
  if (!isSafe(request.method) && !caller.mayWrite) {
    throw forbidden('This token has scope read and cannot make changes.');
  }
}

function methodNotAllowed(method: string): RequestFailure {
  return new RequestFailure(405, { detail: `Method "${method}" not allowed.` });
}

const QUERY = '?format=json';

/** Adds `format=json` of a request to the links of its response and to `Location`, as the controller does. */
function carryFormat(body: unknown, request: FastifyRequest, reply: FastifyReply): unknown {
  const { query } = parseTarget(request.url);
  if (query === '' || new URLSearchParams(query).get('format') !== 'json' || !isRecord(body)) return body;
  const location = reply.getHeader('Location');
  if (location !== undefined) reply.header('Location', `${location}${QUERY}`);
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

/**
 * The response to OPTIONS: the resource and its writable fields, in the form that the awx CLI reads. Unsupported
 * fields are included: awx import drops fields that OPTIONS does not list, so they would be lost without an error.
 */
function describeEndpoint(
  endpoint: Pick<Endpoint, 'name' | 'description' | 'fields' | 'objectRoles'> & Partial<Endpoint>,
  mayWrite: boolean,
): Record<string, unknown> {
  const { fields, handlers = {} } = endpoint;
  const about = {
    name: endpoint.name,
    description: endpoint.description,
    renders: ['application/json', 'text/html'],
    parses: ['application/json'],
  };
  if (fields === undefined) return about;
  const actions: Record<string, unknown> = {
    GET: describeFields(fields, (field) => field.hidden !== true, false),
  };
  if (handlers.POST && mayWrite) {
    const { id } = endpoint.attaches ? fields.fields : {};
    actions['POST'] = {
      ...(id !== undefined && { id: describeField(id, true) }),
      ...describeFields(fields, ({ writable, fixed }) => writable !== undefined || fixed !== undefined, true),
    };
  }
  if (handlers.PUT && mayWrite)
    actions['PUT'] = describeFields(fields, (field) => field.writable === 'change', true);
  const list = handlers.PUT === undefined && handlers.DELETE === undefined;
  return {
    ...about,
    actions,
    types: [fields.type],
    ...(endpoint.objectRoles && { object_roles: endpoint.objectRoles }),
    ...(list && {
      search_fields: fields.searchFields,
      related_search_fields: Object.keys(fields.relations).map((name) => `${name}__search`),
      max_page_size: 200,
    }),
  };
}

function describeFields(set: FieldSet, included: (field: Field) => boolean, forWriting: boolean) {
  const entries = Object.entries(set.fields).filter(([, field]) => included(field));
  return Object.fromEntries(entries.map(([name, field]) => [name, describeField(field, forWriting)]));
}

function defaultOf({ fixed, defaultValue }: Field): Readonly<Record<string, unknown>> {
  if (fixed !== undefined) return { default: fixed.value };
  return defaultValue === undefined ? {} : { default: defaultValue };
}

function describeField(field: Field, forWriting: boolean): Record<string, unknown> {
  return {
    type: field.type,
    ...(forWriting && { required: field.required === true }),
    hidden: false,
    label: field.label,
    ...(field.helpText !== undefined && { help_text: field.helpText }),
    ...(forWriting && field.maxLength !== undefined && !field.secret && { max_length: field.maxLength }),
    ...(field.type === 'integer' &&
      field.writable !== undefined && { min_value: field.min ?? 0, max_value: field.max ?? MAX_INTEGER }),
    ...((field.choices === undefined || field.column !== undefined) && {
      filterable: field.column !== undefined && !field.unannounced,
    }),
    ...(field.choices !== undefined && { choices: field.choices }),
    ...(forWriting && defaultOf(field)),
  };
}
