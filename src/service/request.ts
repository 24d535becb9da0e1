import type { FastifyInstance, FastifyRequest } from 'fastify';
import { badRequest, RequestFailure } from './failure.ts';

/** The largest body that is read, in bytes. */
export const BODY_LIMIT = 1024 * 1024;

/**
 * Lets JSON in, and only JSON: no body and an empty one are an empty object, as the controller reads them.
 * Login and logout read forms as well; they add that parser in a scope of their own.
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
 * The body as an object. JSON that is something else, `null` among it, is 400 (the controller answers 500
 * to `null`).
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

/** A request target taken apart. */
interface Target {
  /** Always a path, beginning with one slash. */
  readonly path: string;
  /** What follows the first question mark, without it; empty where there is none. */
  readonly query: string;
}

/**
 * Takes a request target apart (RFC 9112 §3.2), as the router does: a target in absolute form is reduced to
 * its path, and only the first question mark, or number sign, ends that.
 */
export function parseTarget(url: string): Target {
  const [, path = '', query = ''] = /^(?:https?:\/\/[^/]*)?([^?#]*)[?#]?(.*)$/is.exec(url) ?? [];
  return { path: path.replace(/^\/*/, '/'), query };
}
