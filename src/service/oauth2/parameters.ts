import type { FastifyRequest } from 'fastify';
import { parseTarget } from '../target.ts';
import { OAuthError } from './oauth-error.ts';

/** Parameters by name. One without a value counts as left out (RFC 6749 §3.1 and §3.2). */
export type Parameters = ReadonlyMap<string, string>;

/** Parameters as they were sent, with the names of those that came more than once. */
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

/** The parameters of a form in the body; a body of another kind holds none. */
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
 * The parameters of a request to the token, revocation or introspection endpoint: a form in the body, none in
 * the query string, where proxies log them (RFC 6749 §2.3.1), and each once (§3.2).
 *
 * @throws OAuthError `invalid_request`
 */
export function endpointParameters(request: FastifyRequest): Parameters {
  if (parseTarget(request.url).query !== '') {
    throw new OAuthError('invalid_request', 'The parameters go into the body, not into the query string.');
  }
  const { values, repeated } = formParameters(request);
  if (repeated.size > 0) throw new OAuthError('invalid_request', 'A parameter is repeated.');
  if ([...values.values()].some((value) => value.includes('\0'))) {
    throw new OAuthError('invalid_request', 'A parameter holds a character that no parameter may hold.');
  }
  return values;
}

/**
 * A parameter that must be there.
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
