import { clientNetwork } from '@tokenctl/common/network-address.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { badRequest, invalid, RequestFailure } from './failure.ts';

/** The maximum size of a request body, in bytes. */
export const BODY_LIMIT = 1024 * 1024;
/** How many parameters a query string, a form or the cookies may have: Django's default (DATA_UPLOAD_MAX_NUMBER_FIELDS). */
const MAX_PARAMETERS = 1_000;
/** How many values the objects and lists of a JSON body may have, all together. */
const MAX_JSON_VALUES = 10_000;
/** How deep the objects and lists of a JSON body may be nested. */
const MAX_JSON_DEPTH = 100;

/** What is wrong with the number of parameters in a text, or null. They are counted before they are parsed. */
export function parametersProblem(what: string, text: string, separator: '&' | ';' = '&'): string | null {
  let count = 1;
  for (let at = text.indexOf(separator); at >= 0; at = text.indexOf(separator, at + 1)) count += 1;
  return count > MAX_PARAMETERS ? `${what} has more than ${MAX_PARAMETERS} parameters.` : null;
}

/** Refuses requests with too many query parameters or cookies, before any other hook reads them. */
export function limitParameters(app: FastifyInstance): void {
  app.addHook('onRequest', ({ url, headers: { cookie = '' } }, _reply, done) => {
    const problem =
      parametersProblem('The query string', parseTarget(url).query) ??
      parametersProblem('The Cookie header', cookie, ';');
    done(problem === null ? undefined : badRequest(problem));
  });
}

/** Reads forms: a text for each name, or a list for a repeated one; too many parameters are `refused`. */
export function readForms(app: FastifyInstance, refused: (problem: string) => Error = badRequest): void {
  const type = 'application/x-www-form-urlencoded';
  app.addContentTypeParser<string>(type, { parseAs: 'string' }, (_request, body, done) => {
    const problem = parametersProblem('The form', body);
    if (problem !== null) return done(refused(problem));
    const form: Record<string, string | string[]> = Object.create(null);
    for (const [name, value] of new URLSearchParams(body)) {
      const before = form[name];
      if (Array.isArray(before)) before.push(value);
      else form[name] = before === undefined ? value : [before, value];
    }
    done(null, form);
  });
}

/**
 * Accepts JSON bodies only. A missing or empty body is read as an empty object, as on the controller. Login
 * and logout add {@link readForms} in their own scope.
 */
export function readJson(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (_request, body, done) => {
    if (body.trim() === '') return done(null, {});
    const problem = jsonProblem(body);
    if (problem !== null) return done(badRequest(`JSON parse error: ${problem}`));
    let value: unknown;
    try {
      value = JSON.parse(body);
    } catch {
      return done(badRequest('JSON parse error.'));
    }
    if (ESCAPED_SURROGATE.test(body) && !isWellFormed(value)) {
      return done(badRequest('JSON parse error: a string contains half of a character (a lone surrogate).'));
    }
    done(null, value);
  });
}

const ESCAPED_SURROGATE = /\\u[dD][89a-fA-F]/;

/** Whether all texts can be stored as UTF-8: a lone surrogate would become another character. */
function isWellFormed(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed();
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([name, member]) => name.isWellFormed() && isWellFormed(member));
}

/** What is wrong with the size of a JSON text, or null. It is measured before it is parsed. */
function jsonProblem(text: string): string | null {
  let [values, depth, isText] = [0, 0, false];
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (character === '"') isText = !isText;
    else if (isText) at += character === '\\' ? 1 : 0;
    else if (character === '[' || character === '{') {
      depth += 1;
      values += 1;
    } else if (character === ']' || character === '}') depth -= 1;
    else if (character === ',') values += 1;
    if (depth > MAX_JSON_DEPTH) return `the body is nested deeper than ${MAX_JSON_DEPTH} levels.`;
    if (values > MAX_JSON_VALUES) return `the body has more than ${MAX_JSON_VALUES} values.`;
  }
  return null;
}

/** The body as an object. Other JSON values are answered with 400 (the controller answers 500 to `null`). */
export function jsonObject(request: FastifyRequest): Record<string, unknown> {
  const { body } = request;
  if (body === undefined) {
    const length = request.headers['content-length'];
    if (length !== undefined && length !== '0')
      throw new RequestFailure(415, { detail: 'Unsupported media type in request.' });
    return {};
  }
  if (body === null) throw invalid({ __all__: ['No data provided.'] });
  if (typeof body !== 'object' || Array.isArray(body)) {
    throw badRequest('JSON parse error: the body must be a JSON object.');
  }
  return body as Record<string, unknown>;
}

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
     * The client's network for rate limits, as of the request's start: a closed connection has no address.
     */
    network: string;
  }
}

/** Sets the network of each request before any other hook. */
export function setClientNetworks(app: FastifyInstance): void {
  app.decorateRequest('network', '');
  app.addHook('onRequest', (request, _reply, done) => {
    // Missing from the types: the address of a closed connection is undefined.
    request.network = clientNetwork(request.ip ?? 'gone');
    done();
  });
}
