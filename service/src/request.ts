import { clientNetwork } from '@tokenctl/common/network-address.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { badRequest, invalid, RequestFailure } from './failure.ts';

/** The maximum size of a request body, in bytes. */
export const BODY_LIMIT = 1024 * 1024;
/** The maximum number of parameters of a request: Django's default (DATA_UPLOAD_MAX_NUMBER_FIELDS). */
const MAX_PARAMETERS = 1_000;
/** The maximum number of values in the objects and lists of a JSON body. */
const MAX_JSON_VALUES = 10_000;
/** The maximum nesting depth of a JSON body. */
const MAX_JSON_DEPTH = 100;

/** Why a text has too many parameters, or null. They are counted before they are parsed. */
export function parametersProblem(what: string, text: string, separator: '&' | ';' = '&'): string | null {
  let count = 1;
  for (let at = text.indexOf(separator); at >= 0; at = text.indexOf(separator, at + 1)) count += 1;
  return count > MAX_PARAMETERS ? `${what} has more than ${MAX_PARAMETERS} parameters.` : null;
}

/** Refuses requests with too many query parameters or cookies, before other hooks read them. */
export function limitParameters(app: FastifyInstance): void {
  app.addHook('onRequest', ({ url, headers: { cookie = '' } }, _reply, done) => {
    const problem =
      parametersProblem('The query string', parseTarget(url).query) ??
      parametersProblem('The Cookie header', cookie, ';');
    done(problem === null ? undefined : badRequest(problem));
  });
}

/** Reads forms: a text for each name, or a list for a repeated one. Throws `refused` for too many parameters. */
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

/** Accepts only JSON. A missing or empty body is an empty object, as on the controller. See also {@link readForms}. */
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

/** Whether all texts can be stored as UTF-8. A lone surrogate would become another character. */
function isWellFormed(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed();
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([name, member]) => name.isWellFormed() && isWellFormed(member));
}

/** Why a JSON text is too large, or null. It is measured before it is parsed. */
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

/** The body as an object. Throws 400 for other JSON values (the controller answers 500 to `null`). */
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

/** Redirects with a temporary redirect and an empty page, as the controller does. */
export function redirect(reply: FastifyReply, location: string): FastifyReply {
  return reply.code(302).header('Location', location).type('text/html; charset=utf-8').send('');
}

interface Target {
  /** With one leading slash. */
  readonly path: string;
  /** The query string without the question mark; empty if missing. */
  readonly query: string;
}

/** Parses a request target (RFC 9112 §3.2) as the router does: the path ends at the first `?` or `#`. */
export function parseTarget(url: string): Target {
  const [, path = '', query = ''] = /^(?:https?:\/\/[^/]*)?([^?#]*)[?#]?(.*)$/is.exec(url) ?? [];
  return { path: path.replace(/^\/*/, '/'), query };
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The client's network for rate limits, taken when the request starts: a closed connection has no address. */
    network: string;
  }
}

/** Sets the network of each request before other hooks. */
export function setClientNetworks(app: FastifyInstance): void {
  app.decorateRequest('network', '');
  app.addHook('onRequest', (request, _reply, done) => {
    // The types omit that the address of a closed connection is undefined.
    request.network = clientNetwork(request.ip ?? 'gone');
    done();
  });
}
