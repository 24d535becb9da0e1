import formbody from '@fastify/formbody';
import type { FastifyInstance } from 'fastify';
import type { ServiceContext } from '../context.ts';
import { handleError } from '../error-handler.ts';
import { serveAuthorizationEndpoint } from './authorization-endpoint.ts';
import { serveMetadata } from './metadata.ts';
import { GrantRefused, OAuthError, sendOAuthError } from './oauth-request.ts';
import { serveIntrospectionEndpoint, serveRevocationEndpoint } from './revocation-and-introspection.ts';
import { GRANT_TYPES, serveTokenEndpoint } from './token-endpoint.ts';

/**
 * The authorization server, a Fastify plugin: RFC 6749 with the protections of RFC 9700, revocation (7009),
 * PKCE (7636), introspection (7662), metadata (8414) and issuer identification (9207). It reads forms only.
 */
export async function oauth2(app: FastifyInstance, service: ServiceContext): Promise<void> {
  serveMetadata(app, service, GRANT_TYPES);
  await app.register(async (forms) => {
    await readForms(forms);
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
async function readForms(app: FastifyInstance): Promise<void> {
  app.removeAllContentTypeParsers();
  await app.register(formbody);
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, _body, done) => done(null, null));
}
