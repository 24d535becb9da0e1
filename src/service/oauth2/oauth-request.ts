import type { FastifyReply, FastifyRequest } from 'fastify';
import { parseTarget } from '../request.ts';

/** Parameters by name. A parameter without a value counts as omitted (RFC 6749 §3.1 and §3.2). */
export type Parameters = ReadonlyMap<string, string>;

/** Parameters as sent, with the names of the repeated ones. */
export interface SentParameters {
  readonly values: Parameters;
  readonly repeated: ReadonlySet<string>;
}

/** The parameters in a request's query string. */
export function queryParameters(request: FastifyRequest): SentParameters {
  return readParameters(parseTarget(request.url).query);
}

/** The parameters in a query string. */
export function readParameters(query: string): SentParameters {
  return collect([...new URLSearchParams(query)]);
}

/** The parameters of a form in the body; any other body has none. */
export function formParameters(request: FastifyRequest): SentParameters {
  const { body } = request;
  if (typeof body !== 'object' || body === null) return collect([]);
  return collect(
    Object.entries(body).flatMap(([name, value]) =>
      (Array.isArray(value) ? value : [value]).map((one): [string, string] => [name, String(one)]),
    ),
  );
}

/**
 * The parameters of a request to the token, revocation or introspection endpoint: a form in the body, each
 * parameter once (RFC 6749 §3.2), and none in the query string, which proxies log (§2.3.1).
 *
 * @throws OAuthError `invalid_request`
 */
export function endpointParameters(request: FastifyRequest): Parameters {
  if (parseTarget(request.url).query !== '') {
    throw new OAuthError('invalid_request', 'Send the parameters in the body, not in the query string.');
  }
  const { values, repeated } = formParameters(request);
  if (repeated.size > 0) throw new OAuthError('invalid_request', 'A parameter is repeated.');
  if ([...values.values()].some((value) => value.includes('\0'))) {
    throw new OAuthError('invalid_request', 'A parameter contains a NUL character.');
  }
  return values;
}

/**
 * A required parameter.
 *
 * @throws OAuthError `invalid_request`
 */
export function required(parameters: Parameters, name: string): string {
  const value = parameters.get(name);
  if (value === undefined) throw new OAuthError('invalid_request', `Request is missing ${name} parameter.`);
  return value;
}

function collect(sent: readonly (readonly [string, string])[]): SentParameters {
  const names = sent.map(([name]) => name);
  return {
    values: new Map(sent.filter(([, value]) => value !== '')),
    repeated: new Set(names.filter((name, index) => names.indexOf(name) !== index)),
  };
}

/** The scope of a request that names none (RFC 6749 §3.3). */
const DEFAULT_SCOPE = 'read write';

/** All scopes. */
export const SCOPES = ['read', 'write'] as const;

/**
 * The requested scope.
 *
 * @throws OAuthError `invalid_scope`
 */
export function requestedScope(scope: string | undefined): string {
  if (scope === undefined) return DEFAULT_SCOPE;
  if (scopeProblem(scope) !== null) throw new OAuthError('invalid_scope');
  return scope;
}

/** Whether a granted scope includes all of a requested one. */
export function covers(granted: string, requested: string): boolean {
  const words = granted.split(' ');
  return requested.split(' ').every((word) => words.includes(word));
}

/** Why a scope is invalid, or null: it is `read`, `write`, or both in either order, each once. */
export function scopeProblem(scope: unknown): string | null {
  if (scope === null) return 'This field may not be null.';
  if (typeof scope !== 'string') return 'Not a valid string.';
  const words = scope.split(' ');
  if (words.some((word) => !SCOPES.some((known) => known === word)) || new Set(words).size !== words.length) {
    return 'Must be a simple space-separated string with allowed scopes read, write.';
  }
  return null;
}

/** The errors of RFC 6749 §4.1.2.1 and §5.2 that the service uses. */
type OAuthErrorCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'invalid_scope'
  | 'unauthorized_client'
  | 'unsupported_grant_type'
  | 'unsupported_response_type'
  | 'access_denied';

/** An error response of an OAuth2 endpoint. */
export class OAuthError extends Error {
  override readonly name = 'OAuthError';
  readonly code: OAuthErrorCode;
  /** For the developer of the client. It contains nothing of the request. */
  readonly description: string | undefined;

  constructor(code: OAuthErrorCode, description?: string) {
    super(`request answered with ${code}`);
    this.code = code;
    this.description = description;
  }
}

/**
 * A refused grant that the controller answers with 403 and a sentence instead of a JSON error.
 */
export class GrantRefused extends Error {
  override readonly name = 'GrantRefused';
}

/** Sends an error as in RFC 6749 §5.2, with the controller's challenge for `invalid_client`. */
export function sendOAuthError(reply: FastifyReply, { code, description }: OAuthError): FastifyReply {
  if (code === 'invalid_client') reply.header('WWW-Authenticate', 'Bearer error="invalid_client"');
  return reply
    .code(code === 'invalid_client' ? 401 : 400)
    .send({ error: code, ...(description !== undefined && { error_description: description }) });
}
