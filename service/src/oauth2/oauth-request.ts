import type { FastifyReply, FastifyRequest } from 'fastify';
import { badRequest } from '../failure.ts';
import { parametersProblem, parseTarget } from '../request.ts';

/** Parameters by name, without empty ones (RFC 6749 §3.1, §3.2), except `scope`: its default is every scope. */
export type Parameters = ReadonlyMap<string, string>;

/** Parameters as sent, with the names of the repeated ones. */
export interface SentParameters {
  readonly values: Parameters;
  readonly repeated: ReadonlySet<string>;
  /** Repeated parameters with different values. */
  readonly conflicting: ReadonlySet<string>;
}

export function queryParameters(request: FastifyRequest): SentParameters {
  return readParameters(parseTarget(request.url).query);
}

/** Throws RequestFailure 400 for too many parameters. */
export function readParameters(query: string): SentParameters {
  const problem = parametersProblem('The query string', query);
  if (problem !== null) throw badRequest(problem);
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
 * The parameters of a request to the token, revocation or introspection endpoint: a form in the body, and
 * none in the query string, which proxies log (RFC 6749 §2.3.1). A repeated parameter must not have different
 * values (§3.2). The same value twice is accepted: client libraries add a second `client_id` to the body.
 * @throws OAuthError `invalid_request`
 */
export function endpointParameters(request: FastifyRequest): Parameters {
  if (parseTarget(request.url).query !== '') {
    throw new OAuthError('invalid_request', 'Send the parameters in the body, not in the query string.');
  }
  const { values, conflicting } = formParameters(request);
  if (conflicting.size > 0)
    throw new OAuthError('invalid_request', 'A parameter is repeated with different values.');
  if ([...values.values()].some((value) => value.includes('\0'))) {
    throw new OAuthError('invalid_request', 'A parameter contains a NUL character.');
  }
  return values;
}

/** Throws OAuthError `invalid_request` if the parameter is missing. */
export function required(parameters: Parameters, name: string): string {
  const value = parameters.get(name);
  if (value === undefined) throw new OAuthError('invalid_request', `Request is missing ${name} parameter.`);
  return value;
}

function collect(sent: readonly (readonly [string, string])[]): SentParameters {
  const first = new Map<string, string>();
  const repeated = new Set<string>();
  const conflicting = new Set<string>();
  for (const [name, value] of sent) {
    const before = first.get(name);
    if (before === undefined) first.set(name, value);
    else repeated.add(name);
    if (before !== undefined && before !== value) conflicting.add(name);
  }
  const values = new Map(sent.filter(([name, value]) => value !== '' || name === 'scope'));
  return { values, repeated, conflicting };
}

/** The scope of a request that names none (RFC 6749 §3.3). */
const DEFAULT_SCOPE = 'read write';

export const SCOPES = ['read', 'write'] as const;

const MAX_SCOPE_WORDS = 100;

/** The requested scope; words may be repeated, as on the controller. Throws `invalid_scope` for a blank. */
export function requestedScope(scope: string | undefined): string {
  if (scope === undefined) return DEFAULT_SCOPE;
  const words = scopeWords(scope);
  const isTooLong = words.length > MAX_SCOPE_WORDS;
  if (words.length === 0 || isTooLong || !words.every(isScope)) throw new OAuthError('invalid_scope');
  return words.join(' ');
}

/** Whether a granted scope includes all of a requested one. */
export function covers(granted: string, requested: string): boolean {
  const words = new Set(scopeWords(granted));
  return scopeWords(requested).every((word) => words.has(word));
}

/** The words of a scope. Clients write several spaces between and around them. */
function scopeWords(scope: string): readonly string[] {
  return scope.split(/\s+/).filter((word) => word !== '');
}

const isScope = (word: string) => SCOPES.some((known) => known === word);

/** Why the scope of a token resource is refused, or null. Valid are `read`, `write` or both, each once. */
export function scopeProblem(scope: string): string | null {
  const words = scopeWords(scope);
  if (words.length > 0 && words.every(isScope) && new Set(words).size === words.length) return null;
  return 'Must be a simple space-separated string with allowed scopes read, write.';
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

export class OAuthError extends Error {
  override readonly name = 'OAuthError';
  readonly code: OAuthErrorCode;
  /** For the client's developer. Contains nothing from the request. */
  readonly description: string | undefined;

  constructor(code: OAuthErrorCode, description?: string) {
    super(`request answered with ${code}`);
    this.code = code;
    this.description = description;
  }
}

/** A refused grant that the controller answers with 403 and a sentence instead of a JSON error. */
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
