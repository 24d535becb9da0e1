import type { FastifyInstance } from 'fastify';
import type { ServiceContext } from '../context.ts';
import type { ClientRecord } from '../store/clients.ts';
import { authorizationCodeGrant } from './authorization-code-grant.ts';
import { authenticateClient } from './client-authentication.ts';
import { serveFormEndpoint } from './form-endpoint.ts';
import type { Grant } from './grant.ts';
import { OAuthError } from './oauth-error.ts';
import { endpointParameters, type Parameters } from './parameters.ts';
import { passwordGrant } from './password-grant.ts';
import { refreshGrant } from './refresh-grant.ts';

/** A value of `grant_type`, and which applications may use it. */
interface KnownGrant {
  readonly applications: readonly string[];
  readonly grant: Grant;
}

const GRANTS: ReadonlyMap<string, KnownGrant> = new Map([
  ['password', { applications: ['password'], grant: passwordGrant }],
  ['authorization_code', { applications: ['authorization-code'], grant: authorizationCodeGrant }],
  ['refresh_token', { applications: ['password', 'authorization-code'], grant: refreshGrant }],
  // The controller knows it and lets no application be registered for it: it is answered, and never honoured.
  ['client_credentials', { applications: [], grant: () => Promise.reject(new OAuthError('invalid_grant')) }],
]);

/** The values of `grant_type` that get tokens. */
export const GRANT_TYPES = [...GRANTS]
  .filter(([, known]) => known.applications.length > 0)
  .map(([name]) => name);

/** The token endpoint (RFC 6749 §3.2), in these steps: parameters, grant type, client, permission, grant. */
export function serveTokenEndpoint(app: FastifyInstance, service: ServiceContext): void {
  const { oauth2: root, grantedStatus: success } = service.dialect;
  serveFormEndpoint(app, { root, name: 'token', success }, async (request) => {
    const parameters = endpointParameters(request);
    const known = knownGrant(parameters);
    const client = await authenticateClient(service, request, parameters);
    requirePermission(client, known);
    const settings = await service.lookups.settings();
    return known.grant({ service, settings, client, parameters, network: request.network });
  });
}

/** A missing grant type is an unknown one, as on the controller. */
function knownGrant(parameters: Parameters): KnownGrant {
  const known = GRANTS.get(parameters.get('grant_type') ?? '');
  if (known === undefined) throw new OAuthError('unsupported_grant_type');
  return known;
}

function requirePermission(client: ClientRecord, { applications }: KnownGrant): void {
  if (!applications.includes(client.authorization_grant_type)) throw new OAuthError('unauthorized_client');
}
