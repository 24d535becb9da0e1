import { timingSafeEqual } from 'node:crypto';
import type { FastifyInstance, FastifyRequest, HTTPMethods } from 'fastify';
import { hashToken } from '../auth/secret-hashes.ts';
import type { ServiceContext } from '../context.ts';
import type { RouteDescription } from '../endpoint.ts';
import type { ClientRecord } from '../store/applications.ts';
import { OAuthError, type Parameters } from './oauth-request.ts';

const CLIENT = {
  client_id: { description: 'The client ID, unless it is sent with HTTP Basic authentication.' },
  client_secret: {
    description:
      'The client secret, unless it is sent with HTTP Basic authentication. Public clients have none.',
  },
};
const TOKEN_OF_CLIENT = {
  token: { description: 'An access or refresh token.', required: true },
  token_type_hint: { description: 'access_token or refresh_token.' },
  ...CLIENT,
} as const;
const ANSWERS = {
  200: 'Success.',
  400: 'An error as in RFC 6749, section 5.2.',
  401: 'Client authentication failed.',
  429: 'Too many rejected requests. Retry after the number of seconds in Retry-After.',
};
const FORM_ENDPOINTS = {
  token: {
    summary: 'Obtain or refresh tokens (RFC 6749, section 3.2)',
    methods: ['POST'],
    form: {
      grant_type: { description: 'password, authorization_code or refresh_token.', required: true },
      ...CLIENT,
      username: { description: 'With password.' },
      password: { description: 'With password.' },
      code: { description: 'With authorization_code.' },
      redirect_uri: { description: 'With authorization_code: the same as in the authorization request.' },
      code_verifier: { description: 'With authorization_code: RFC 7636, section 4.5.' },
      refresh_token: { description: 'With refresh_token. It is replaced: the response contains a new one.' },
      scope: { description: 'read, write, or both separated by a space.' },
    },
    answers: ANSWERS,
  },
  revoke_token: {
    summary: 'Revoke a token (RFC 7009)',
    methods: ['POST'],
    form: TOKEN_OF_CLIENT,
    answers: ANSWERS,
  },
  introspect: {
    summary: 'Introspect a token (RFC 7662)',
    methods: ['POST'],
    form: TOKEN_OF_CLIENT,
    answers: ANSWERS,
  },
} as const satisfies Readonly<Record<string, RouteDescription>>;

const METHODS: HTTPMethods[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/** Serves POST of a form. Sends the result of `answer` as JSON, undefined as an empty page, as on the controller. */
export function serveFormEndpoint(
  app: FastifyInstance,
  { name }: { name: keyof typeof FORM_ENDPOINTS },
  answer: (request: FastifyRequest) => Promise<object | undefined>,
): void {
  const path = `/api/o/${name}/`;
  app.route({
    method: METHODS,
    url: path,
    config: { describes: FORM_ENDPOINTS[name] },
    handler: async (request, reply) => {
      if (request.method !== 'POST') {
        const status = request.method === 'OPTIONS' ? 200 : 405;
        reply.code(status).header('Allow', 'POST, OPTIONS');
        return reply.type('text/html; charset=utf-8').send('');
      }
      const body = await answer(request);
      return body === undefined ? reply.type(typeOfNothing(request)).send('') : reply.send(body);
    },
  });
}

const BASIC = /^basic +([A-Za-z0-9+/]+={0,2})$/i;
/** Compared with the presented secret for an unknown client. Requests with a NUL character are rejected earlier. */
const NO_SECRET = hashToken('\0');

/** Client credentials as presented. A public client presents no secret. */
interface ClientCredentials {
  readonly clientId: string;
  readonly secret: string | null;
}

/**
 * Authenticates the client of a request: a confidential client by its secret, in the Authorization header or
 * in the body; a public one by its client_id in the body (RFC 6749 §2.3.1 and §3.2.1). Every failure takes
 * the same time and has the same answer.
 * @throws OAuthError `invalid_client`; `invalid_request` for two methods at once (§2.3)
 */
export async function authenticateClient(
  service: ServiceContext,
  request: FastifyRequest,
  parameters: Parameters,
): Promise<ClientRecord> {
  const presented = credentialsOf(request, parameters);
  if (presented === null || presented.clientId.includes('\0')) throw new OAuthError('invalid_client');
  const client = await service.lookups.clients.find(presented.clientId);
  const secretMatches = matchesStored(presented.secret ?? '', client?.client_secret ?? NO_SECRET);
  const authenticated = client?.client_type === 'public' ? presented.secret === null : secretMatches;
  if (client === null || !authenticated) throw new OAuthError('invalid_client');
  if (client.client_type === 'confidential') request.provenClient = client.client_id;
  return client;
}

function credentialsOf(request: FastifyRequest, parameters: Parameters): ClientCredentials | null {
  const { authorization } = request.headers;
  const clientId = parameters.get('client_id');
  const secret = parameters.get('client_secret') ?? null;
  if (authorization === undefined || !/^basic( |$)/i.test(authorization)) {
    return clientId === undefined ? null : { clientId, secret };
  }
  const basic = basicCredentials(authorization);
  // Libraries may send the same credentials in both places, which is harmless.
  if (basic !== null && clientId === basic.clientId && secret === basic.secret) return basic;
  if (secret !== null || (clientId !== undefined && basic !== null && clientId !== basic.clientId)) {
    throw new OAuthError('invalid_request', 'Only one method of client authentication may be used.');
  }
  return basic;
}

/** The client id and secret, each form-encoded before they were joined (RFC 6749 §2.3.1). */
function basicCredentials(authorization: string): ClientCredentials | null {
  const encoded = BASIC.exec(authorization)?.[1];
  if (encoded === undefined) return null;
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  if (colon < 1) return null;
  try {
    const [clientId = '', secret = ''] = [text.slice(0, colon), text.slice(colon + 1)].map((part) =>
      decodeURIComponent(part.replaceAll('+', ' ')),
    );
    return { clientId, secret };
  } catch {
    return null;
  }
}

function matchesStored(secret: string, stored: string): boolean {
  const digest = Buffer.from(hashToken(secret));
  const known = Buffer.from(stored);
  return digest.length === known.length && timingSafeEqual(digest, known);
}

/** The media type of an empty answer: HTML, as on the controller, or JSON for libraries that accept nothing else. */
function typeOfNothing({ headers: { accept = '' } }: FastifyRequest): string {
  return /json/i.test(accept) && !/html|\*\/\*/i.test(accept)
    ? 'application/json'
    : 'text/html; charset=utf-8';
}
