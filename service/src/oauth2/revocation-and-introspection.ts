import type { FastifyInstance } from 'fastify';
import { hashToken } from '../auth/secret-hashes.ts';
import type { ServiceContext } from '../context.ts';
import { currentSettings } from '../settings/settings.ts';
import {
  endAccessToken,
  type FoundToken,
  findLiveToken,
  findTokenByHash,
  type LiveToken,
} from '../store/issued-tokens.ts';
import { endFamily } from '../store/refresh-tokens.ts';
import { authenticateClient, serveFormEndpoint } from './form-endpoint.ts';
import { endpointParameters, OAuthError, required } from './oauth-request.ts';

/**
 * The revocation endpoint (RFC 7009), in these steps: parameters, client, token, ownership, revocation. An
 * unknown token counts as revoked (§2.2); a token of another client is refused (§2.1).
 */
export function serveRevocationEndpoint(app: FastifyInstance, service: ServiceContext): void {
  serveFormEndpoint(app, { name: 'revoke_token' }, async (request) => {
    const parameters = endpointParameters(request);
    const client = await authenticateClient(service, request, parameters);
    const value = required(parameters, 'token');
    const token = await findTokenByHash(service.database, hashToken(value));
    if (token === null) return undefined;
    requireOwnership(token, client.id);
    await revoke(service, token);
    return undefined;
  });
}

/** A personal access token belongs to no client. Its owner deletes it through the API. */
function requireOwnership(token: FoundToken, clientId: number): void {
  if (token.application_id !== clientId) {
    throw new OAuthError('invalid_grant', 'The token was not issued to this client.');
  }
}

/** Either token of a pair revokes both, and all other tokens of the same grant (RFC 7009 §2.1). */
async function revoke(service: ServiceContext, token: FoundToken): Promise<void> {
  const { database, node } = service;
  const at = service.now();
  const { family, access_token_id: id } = token;
  if (family !== null) {
    await database.transaction((transaction) => endFamily(transaction, { family, at, node }));
  } else if (id !== null) {
    await endAccessToken(database, { id, at, node });
  }
}

/**
 * The introspection endpoint (RFC 7662), for confidential clients only: a public client is not authenticated
 * (§4). Any client may introspect an access token, since any may receive one. Only the client of a refresh
 * token may introspect it.
 */
export function serveIntrospectionEndpoint(app: FastifyInstance, service: ServiceContext): void {
  serveFormEndpoint(app, { name: 'introspect' }, async (request) => {
    const parameters = endpointParameters(request);
    const client = await authenticateClient(service, request, parameters);
    if (client.client_type !== 'confidential') throw new OAuthError('invalid_client');
    const value = required(parameters, 'token');
    const at = service.now();
    const token = await findLiveToken(service.database, hashToken(value), at);
    if (token === null) return { active: false };
    const expires = await expiryOf(service, token);
    const foreign = token.kind === 'refresh_token' && token.application_id !== client.id;
    return foreign || expires <= at ? { active: false } : { ...facts(token, expires), iss: request.issuer };
  });
}

async function expiryOf(service: ServiceContext, token: LiveToken): Promise<Date> {
  if (token.expires !== null) return token.expires;
  const { OAUTH2_PROVIDER } = await currentSettings(service.database);
  return new Date(token.created.getTime() + OAUTH2_PROVIDER.REFRESH_TOKEN_EXPIRE_SECONDS * 1000);
}

/** The members of RFC 7662 §2.2; times are Unix seconds. */
function facts(token: LiveToken, expires: Date): Record<string, unknown> {
  const seconds = (time: Date) => Math.floor(time.getTime() / 1000);
  return {
    active: true,
    scope: token.scope,
    ...(token.client_id !== null && { client_id: token.client_id }),
    username: token.username,
    ...(token.kind === 'access_token' && { token_type: 'Bearer' }),
    exp: seconds(expires),
    iat: seconds(token.created),
    sub: String(token.user_id),
  };
}
