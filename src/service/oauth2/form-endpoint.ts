import type { FastifyInstance, FastifyRequest, HTTPMethods } from 'fastify';
import { redirectWithoutSlash } from '../endpoint.ts';
import { FORM_ENDPOINTS } from './descriptions.ts';

const METHODS: HTTPMethods[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/** An endpoint below the root of the OAuth2 endpoints, and the status that it answers with a body. */
interface FormEndpoint {
  readonly root: string;
  readonly name: keyof typeof FORM_ENDPOINTS;
  readonly success?: 200 | 201;
}

/**
 * Serves an endpoint to which clients POST forms. What `answer` returns is sent as JSON; undefined as an empty
 * page, which is what the controller sends where there is nothing to say.
 */
export function serveFormEndpoint(
  app: FastifyInstance,
  { root, name, success = 200 }: FormEndpoint,
  answer: (request: FastifyRequest) => Promise<object | undefined>,
): void {
  const path = `${root}${name}/`;
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
      return body === undefined
        ? reply.type('text/html; charset=utf-8').send('')
        : reply.code(success).send(body);
    },
  });
  redirectWithoutSlash(app, path);
}
