import { timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { storedForm } from '../auth/digest.ts';
import type { ServiceContext } from '../context.ts';
import type { ClientRecord } from '../store/clients.ts';
import { OAuthError } from './oauth-error.ts';
import type { Parameters } from './parameters.ts';

const BASIC = /^basic +([A-Za-z0-9+/]+={0,2})$/i;
/** What a secret is compared with where there is no client: the digest of nothing that anybody could send. */
const NO_SECRET = storedForm('\0');

/** Client credentials as presented; no secret is how a public client presents itself. */
interface ClientCredentials {
  readonly clientId: string;
  readonly secret: string | null;
}

/**
 * The client that a request comes from: a confidential one by its secret, in the Authorization header or in
 * the body; a public one by its client_id in the body alone (RFC 6749 §2.3.1 and §3.2.1). Whatever is wrong,
 * it takes as long and looks the same.
 *
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
  const rightSecret = isStored(presented.secret ?? '', client?.client_secret ?? NO_SECRET);
  const right = client?.client_type === 'public' ? presented.secret === null : rightSecret;
  if (client === null || !right) throw new OAuthError('invalid_client');
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
  if (secret !== null || (clientId !== undefined && basic !== null && clientId !== basic.clientId)) {
    throw new OAuthError('invalid_request', 'Only one method of client authentication may be used.');
  }
  return basic;
}

/** Client identifier and secret, each form-encoded before they were joined (RFC 6749 §2.3.1). */
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

function isStored(secret: string, stored: string): boolean {
  const digest = Buffer.from(storedForm(secret));
  const known = Buffer.from(stored);
  return digest.length === known.length && timingSafeEqual(digest, known);
}
