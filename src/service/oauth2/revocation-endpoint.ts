import type { FastifyInstance } from 'fastify';
import { storedForm } from '../auth/digest.ts';
import type { ServiceContext } from '../context.ts';
import { endAccessToken, findPresented, type PresentedToken } from '../store/presented-tokens.ts';
import { endFamily } from '../store/refresh-tokens.ts';
import { authenticateClient } from './client-authentication.ts';
import { serveFormEndpoint } from './form-endpoint.ts';
import { OAuthError } from './oauth-error.ts';
import { endpointParameters, required } from './parameters.ts';

/**
 * The revocation endpoint (RFC 7009), in these steps: parameters, client, token, ownership, revocation. A
 * token that is not there is as good as revoked (§2.2); one of another client is refused (§2.1).
 */
export function serveRevocationEndpoint(app: FastifyInstance, service: ServiceContext): void {
  serveFormEndpoint(app, { root: service.dialect.oauth2, name: 'revoke_token' }, async (request) => {
    const parameters = endpointParameters(request);
    const client = await authenticateClient(service, request, parameters);
    const value = required(parameters, 'token');
    const token = await findPresented(service.database, storedForm(value));
    if (token === null) return undefined;
    requireOwnership(token, client.id);
    await revoke(service, token);
    return undefined;
  });
}

/** A personal access token belongs to no client: it is ended by its owner, as a token of the API. */
function requireOwnership(token: PresentedToken, clientId: number): void {
  if (token.application_id !== clientId) {
    throw new OAuthError('invalid_grant', 'The token was not issued to this client.');
  }
}

/** Either token of a pair ends both, and all that came of the same grant (RFC 7009 §2.1). */
async function revoke(service: ServiceContext, token: PresentedToken): Promise<void> {
  const { database, node } = service;
  const at = service.now();
  const { family, access_token_id: id } = token;
  if (family !== null) {
    await database.transaction((transaction) => endFamily(transaction, { family, at, node }));
  } else if (id !== null) {
    await endAccessToken(database, { id, at, node });
  }
}
