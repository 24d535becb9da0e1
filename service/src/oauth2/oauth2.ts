import type { FastifyInstance } from 'fastify';
import type { ServiceContext } from '../context.ts';
import { type RouteDescription, servePublic } from '../endpoint.ts';
import { handleError } from '../error-handler.ts';
import { readForms } from '../request.ts';
import { EVENT_PATHS } from '../sso/provider-events.ts';
import { serveAuthorizationEndpoint } from './authorization-endpoint.ts';
import { CHALLENGE_METHODS } from './authorization-request.ts';
import { GrantRefused, OAuthError, SCOPES, sendOAuthError } from './oauth-request.ts';
import { serveIntrospectionEndpoint, serveRevocationEndpoint } from './revocation-and-introspection.ts';
import { GRANT_TYPES, serveTokenEndpoint } from './token-endpoint.ts';

/**
 * The authorization server, a Fastify plugin: RFC 6749 with the protections of RFC 9700, revocation (7009),
 * PKCE (7636), introspection (7662), metadata (8414) and issuer identification (9207). It reads forms only.
 */
export async function oauth2(app: FastifyInstance, service: ServiceContext): Promise<void> {
  serveMetadata(app, service);
  await app.register(async (forms) => {
    readFormsOnly(forms);
    forms.addHook('onRequest', async (_request, reply) => {
      // RFC 6749 §5.1. `Cache-Control: no-store` is on every answer of the service.
      reply.header('Pragma', 'no-cache');
    });
    forms.addHook('onSend', async (_request, reply) => {
      // The current URL contains the request, the next one may contain a code (RFC 9700 §4.2.4).
      if (reply.statusCode === 302) reply.header('Referrer-Policy', 'no-referrer');
    });
    forms.setErrorHandler((error, request, reply) => {
      if (error instanceof OAuthError) return sendOAuthError(reply, error);
      if (error instanceof GrantRefused) {
        return reply.code(403).type('text/html; charset=utf-8').send(error.message);
      }
      return handleError(error as Parameters<typeof handleError>[0], request, reply);
    });
    serveAuthorizationEndpoint(forms, service);
    serveTokenEndpoint(forms, service);
    serveRevocationEndpoint(forms, service);
    serveIntrospectionEndpoint(forms, service);
  });
}

/** A body that is not a form counts as a form without parameters, as on the controller. */
function readFormsOnly(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  readForms(app, (problem) => new OAuthError('invalid_request', problem));
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, _body, done) => done(null, null));
}

const OAUTH2 = '/api/o/';
const SERVER_METADATA: RouteDescription = { summary: 'Metadata of the authorization server (RFC 8414)' };

/** The list of OAuth2 endpoints, and `/.well-known/oauth-authorization-server` (RFC 8414). */
function serveMetadata(app: FastifyInstance, service: ServiceContext): void {
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
        grant_types_supported: [...GRANT_TYPES, ...(implicit ? ['implicit'] : [])],
        token_endpoint_auth_methods_supported: [...confidential, 'none'],
        revocation_endpoint_auth_methods_supported: [...confidential, 'none'],
        introspection_endpoint_auth_methods_supported: confidential,
        code_challenge_methods_supported: CHALLENGE_METHODS,
        authorization_response_iss_parameter_supported: true,
        global_token_revocation_endpoint: `${issuer}${EVENT_PATHS.revocation}`,
      };
    },
  );
}
