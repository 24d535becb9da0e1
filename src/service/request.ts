import { isIPv6 } from 'node:net';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { badRequest, RequestFailure } from './failure.ts';

/** The maximum size of a request body, in bytes. */
export const BODY_LIMIT = 1024 * 1024;

/**
 * Accepts JSON bodies only. A missing or empty body is read as an empty object, as on the controller. Login and
 * logout add a form parser in their own scope.
 */
export function readJson(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (_request, body, done) => {
    if (body.trim() === '') return done(null, {});
    try {
      done(null, JSON.parse(body));
    } catch {
      done(badRequest('JSON parse error.'));
    }
  });
}

/**
 * The body as an object. Other JSON values are answered with 400 (the controller answers 500 to `null`).
 */
export function jsonObject(request: FastifyRequest): Record<string, unknown> {
  const { body } = request;
  if (body === undefined) {
    const length = request.headers['content-length'];
    if (length !== undefined && length !== '0')
      throw new RequestFailure(415, { detail: 'Unsupported media type in request.' });
    return {};
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw badRequest('JSON parse error: the body must be a JSON object.');
  }
  return body as Record<string, unknown>;
}

/** A parsed request target. */
interface Target {
  /** The path, with one leading slash. */
  readonly path: string;
  /** The query string without the question mark; empty if missing. */
  readonly query: string;
}

/**
 * Parses a request target (RFC 9112 §3.2) as the router does: an absolute URL is reduced to its path, which
 * ends at the first question mark or number sign.
 */
export function parseTarget(url: string): Target {
  const [, path = '', query = ''] = /^(?:https?:\/\/[^/]*)?([^?#]*)[?#]?(.*)$/is.exec(url) ?? [];
  return { path: path.replace(/^\/*/, '/'), query };
}

declare module 'fastify' {
  interface FastifyRequest {
    /**
     * The client's network for rate limits, as of the start of the request: a closed connection has no address.
     */
    network: string;
  }
}

/** Sets the network of each request before any other hook. */
export function setClientNetworks(app: FastifyInstance): void {
  app.decorateRequest('network', '');
  app.addHook('onRequest', async (request) => {
    // Missing from the types: the address of a closed connection is undefined.
    request.network = clientNetwork(request.ip ?? 'gone');
  });
}

/**
 * The network of a client for rate limits: its IPv4 address, or the /64 of its IPv6 address, since one client
 * can use all addresses of a /64.
 */
export function clientNetwork(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (!isIPv6(address)) return address;
  const [head = '', tail] = address.replace(/%.*$/, '').split('::');
  const before = head.split(':').filter((group) => group !== '');
  const after = tail?.split(':').filter((group) => group !== '') ?? [];
  const zeros = Array.from({ length: Math.max(0, 8 - before.length - after.length) }, () => '0');
  const groups = [...before, ...zeros, ...after].slice(0, 4);
  return `${groups.map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/64`;
}
