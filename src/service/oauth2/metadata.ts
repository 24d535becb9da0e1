import type { FastifyInstance } from 'fastify';
import type { ServiceContext } from '../context.ts';
import { type RouteDescription, servePublic } from '../endpoint.ts';
import { CHALLENGE_METHODS } from './authorization-request.ts';
import { SCOPES } from './oauth-request.ts';

const OAUTH2 = '/api/o/';
const SERVER_METADATA: RouteDescription = {
  summary: 'Metadata of the authorization server (RFC 8414)',
  anonymous: true,
};

/** The list of OAuth2 endpoints, and `/.well-known/oauth-authorization-server` (RFC 8414). */
export function serveMetadata(
  app: FastifyInstance,
  service: ServiceContext,
  grantTypes: readonly string[],
): void {
  servePublic(app, {
    path: OAUTH2,
    summary: 'The OAuth2 endpoints',
    get: () =>
      Promise.resolve({
        authorize: `${OAUTH2}authorize/`,
        token: `${OAUTH2}token/`,
        revoke_token: `${OAUTH2}revoke_token/`,
      }),
  });
  app.get(
    '/.well-known/oauth-authorization-server',
    { config: { describes: SERVER_METADATA } },
    async (request) => {
      const { issuer } = request;
      const implicit = service.allowImplicitGrant === true;
      const confidential = ['client_secret_basic', 'client_secret_post'];
      return {
        issuer,
        authorization_endpoint: `${issuer}${OAUTH2}authorize/`,
        token_endpoint: `${issuer}${OAUTH2}token/`,
        revocation_endpoint: `${issuer}${OAUTH2}revoke_token/`,
        introspection_endpoint: `${issuer}${OAUTH2}introspect/`,
        scopes_supported: SCOPES,
        response_types_supported: ['code', ...(implicit ? ['token'] : [])],
        response_modes_supported: ['query', ...(implicit ? ['fragment'] : [])],
        grant_types_supported: [...grantTypes, ...(implicit ? ['implicit'] : [])],
        token_endpoint_auth_methods_supported: [...confidential, 'none'],
        revocation_endpoint_auth_methods_supported: [...confidential, 'none'],
        introspection_endpoint_auth_methods_supported: confidential,
        code_challenge_methods_supported: CHALLENGE_METHODS,
        authorization_response_iss_parameter_supported: true,
      };
    },
  );
}
