import { BlockList } from 'node:net';
import { clientNetwork } from '@tokenctl/common/network-address.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** How long a request may take to arrive, in milliseconds. */
const REQUEST_TIMEOUT_MS = 10_000;
/** Seconds after which a sender should retry. */
export const RETRY_AFTER_S = 30;
/** The maximum number of connections. Each may be sending a body of the maximum size. */
const MAX_CONNECTIONS = 1_000;
/** The maximum number of complete requests in flight. Senders of further ones are asked to retry. */
const MAX_UNDER_WAY = 200;
/** Refused requests of one network: this many at once, then one per this many milliseconds. */
const REFUSED = { burst: 100, refillMs: 1_000 };
const MAX_NETWORKS = 10_000;

/** Addresses of a proxy: this machine, and private networks (RFC 1918, RFC 4193, link-local). */
const proxies = new BlockList();
for (const [network, prefix, family] of [
  ['127.0.0.0', 8, 'ipv4'],
  ['10.0.0.0', 8, 'ipv4'],
  ['172.16.0.0', 12, 'ipv4'],
  ['192.168.0.0', 16, 'ipv4'],
  ['169.254.0.0', 16, 'ipv4'],
  ['::1', 128, 'ipv6'],
  ['fc00::', 7, 'ipv6'],
  ['fe80::', 10, 'ipv6'],
] as const)
  proxies.addSubnet(network, prefix, family);

/** Whether a peer's X-Forwarded-For is trusted: only that of the proxy in front, since clients can write the rest. */
export function isTrustedProxy(address: string, hop: number): boolean {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '');
  return hop === 0 && proxies.check(plain, plain.includes(':') ? 'ipv6' : 'ipv4');
}

/** HTTP server settings that disconnect slow and idle senders. */
export const serverLimits = {
  requestTimeout: REQUEST_TIMEOUT_MS,
  connectionTimeout: 2 * REQUEST_TIMEOUT_MS,
  keepAliveTimeout: 30_000,
  http: { headersTimeout: REQUEST_TIMEOUT_MS, connectionsCheckingInterval: 1_000 },
} as const;

/** Limits connections and requests in flight, which count once their body has arrived. `refuse` answers the rest. */
export function limitRequests(
  app: FastifyInstance,
  refuse: (reply: FastifyReply, status: number, description: string) => FastifyReply,
): void {
  app.server.maxConnections = MAX_CONNECTIONS;
  let underWay = 0;
  app.addHook('preHandler', async (request, reply) => {
    if (request.method !== 'POST') return;
    if (underWay >= MAX_UNDER_WAY) {
      reply.header('Retry-After', '1');
      return refuse(reply, 503, 'Too many requests are in progress');
    }
    underWay += 1;
    reply.raw.once('close', () => {
      underWay -= 1;
    });
  });
}

/** Counts the refused requests of each network, so that they are not answered in detail and logged without limit. */
export class RefusedRequests {
  readonly #left = new Map<string, { readonly left: number; readonly at: number }>();
  readonly #exempt = new WeakSet<FastifyRequest>();

  /** Whether this request's network has too many refused requests, unless the sender is known. */
  blocks(request: FastifyRequest): boolean {
    return !this.#exempt.has(request) && this.#level(clientNetwork(request.ip)) < 1;
  }

  /** Excludes a request of a known sender from counting and blocking. */
  exempt(request: FastifyRequest): void {
    this.#exempt.add(request);
  }

  count(request: FastifyRequest): void {
    if (this.#exempt.has(request)) return;
    const network = clientNetwork(request.ip);
    const left = Math.max(0, this.#level(network) - 1);
    // Moved to the end, so that the first entry is the oldest refusal.
    this.#left.delete(network);
    this.#left.set(network, { left, at: performance.now() });
    const [oldest] = this.#left.keys();
    if (this.#left.size > MAX_NETWORKS && oldest !== undefined) this.#left.delete(oldest);
  }

  #level(network: string): number {
    const { left, at } = this.#left.get(network) ?? { left: REFUSED.burst, at: 0 };
    return Math.min(REFUSED.burst, left + (performance.now() - at) / REFUSED.refillMs);
  }
}
