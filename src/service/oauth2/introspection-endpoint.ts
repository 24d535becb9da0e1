import type { FastifyInstance } from 'fastify';
import { storedForm } from '../auth/digest.ts';
import type { ServiceContext } from '../context.ts';
import { currentSettings } from '../settings/settings.ts';
import { findLive, type LiveToken } from '../store/presented-tokens.ts';
import { authenticateClient } from './client-authentication.ts';
import { serveFormEndpoint } from './form-endpoint.ts';
import { issuerOf } from './metadata.ts';
import { OAuthError } from './oauth-error.ts';
import { endpointParameters, required } from './parameters.ts';

/**
 * The introspection endpoint (RFC 7662), for confidential clients: a public one would be anybody (§4). Every
 * access token can be asked about, by whoever was sent it; a refresh token by the client that it belongs to.
 */
export function serveIntrospectionEndpoint(app: FastifyInstance, service: ServiceContext): void {
  serveFormEndpoint(app, { root: service.dialect.oauth2, name: 'introspect' }, async (request) => {
    const parameters = endpointParameters(request);
    const client = await authenticateClient(service, request, parameters);
    if (client.client_type !== 'confidential') throw new OAuthError('invalid_client');
    const value = required(parameters, 'token');
    const at = service.now();
    const token = await findLive(service.database, storedForm(value), at);
    if (token === null) return { active: false };
    const expires = await expiryOf(service, token);
    const foreign = token.kind === 'refresh_token' && token.application_id !== client.id;
    return foreign || expires <= at
      ? { active: false }
      : { ...facts(token, expires), iss: issuerOf(request) };
  });
}

async function expiryOf(service: ServiceContext, token: LiveToken): Promise<Date> {
  if (token.expires !== null) return token.expires;
  const { OAUTH2_PROVIDER } = await currentSettings(service.database);
  return new Date(token.created.getTime() + OAUTH2_PROVIDER.REFRESH_TOKEN_EXPIRE_SECONDS * 1000);
}

/** The members of RFC 7662 §2.2; times in seconds since 1970. */
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
