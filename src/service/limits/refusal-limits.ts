import type { FastifyInstance } from 'fastify';
import { tooManyRequests } from '../failure.ts';
import { Buckets } from './buckets.ts';

/** Where grants are asked for: what is refused there counts. Wrong passwords at the login count by themselves. */
const LIMITED = ['authorize/', 'token/', 'revoke_token/', 'introspect/'];

/** Refused requests from one network: three hundred, then two a second. */
const REFUSALS = { burst: 300, refillSeconds: 0.5 };

/**
 * Slows down a client whose requests for an authorization or a token are refused again and again:
 * 429 until its allowance has grown again. Requests that are granted take nothing, so that a busy client is
 * never slowed.
 */
export function limitRefusals(app: FastifyInstance, clock: () => number): void {
  const limited: ReadonlySet<string> = new Set(LIMITED.map((name) => `/api/o/${name}`));
  const refusals = new Buckets(REFUSALS, clock);
  app.addHook('onRequest', async (request) => {
    if (!limited.has(request.routeOptions.url ?? '')) return;
    const wait = refusals.wait(request.network);
    if (wait > 0) throw tooManyRequests('Too many requests that were refused.', wait);
  });
  app.addHook('onResponse', async (request, reply) => {
    if (!limited.has(request.routeOptions.url ?? '')) return;
    if ([400, 401, 403].includes(reply.statusCode)) refusals.take(request.network);
  });
}
