import { BlockList } from 'node:net';
import { clientNetwork } from '@tokenctl/common/network-address.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** How long a request may take to arrive, in milliseconds. */
const REQUEST_TIMEOUT_MS = 10_000;
/** Seconds after which a sender is to try again. */
export const RETRY_AFTER_S = 30;
/** Connections at once; each may be sending a body of the largest size. */
const MAX_CONNECTIONS = 1_000;
/** Whole requests being answered; further ones are to come again. */
const MAX_UNDER_WAY = 200;
/** Refused requests of one sender's network: so many at once, then one in so many milliseconds. */
const REFUSED = { burst: 100, refillMs: 1_000 };
/** How many networks are remembered. */
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

/**
 * Whether X-Forwarded-For of this peer is believed: of the proxy in front only. Further entries are what its client wrote, who
 * could have another sender's address refused with them.
 */
export function isTrustedProxy(address: string, hop: number): boolean {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '');
  return hop === 0 && proxies.check(plain, plain.includes(':') ? 'ipv6' : 'ipv4');
}

/** Settings of the HTTP server, by which slow and idle senders lose their connections. */
export const serverLimits = {
  requestTimeout: REQUEST_TIMEOUT_MS,
  connectionTimeout: 2 * REQUEST_TIMEOUT_MS,
  keepAliveTimeout: 30_000,
  http: { headersTimeout: REQUEST_TIMEOUT_MS, connectionsCheckingInterval: 1_000 },
} as const;

/**
 * Limits connections, and the requests being answered. A request counts once its body is there: whoever sends
 * slowly holds a connection, and no more. `refuse` answers one that is not taken.
 */
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

/** Counts the refused requests of each network: what it may not send is not answered in detail and logged without end. */
export class RefusedRequests {
  readonly #left = new Map<string, { readonly left: number; readonly at: number }>();
  readonly #exempt = new WeakSet<FastifyRequest>();

  /** Whether the network of this request had more requests refused than it may, unless its sender is known. */
  blocks(request: FastifyRequest): boolean {
    return !this.#exempt.has(request) && this.#level(clientNetwork(request.ip)) < 1;
  }

  /** Has this request neither counted nor blocked: it is of a known sender. */
  exempt(request: FastifyRequest): void {
    this.#exempt.add(request);
  }

  /** Records that a request was refused. */
  count(request: FastifyRequest): void {
    if (this.#exempt.has(request)) return;
    const network = clientNetwork(request.ip);
    const left = Math.max(0, this.#level(network) - 1);
    // Last again, so that the first entry is the one that was refused longest ago.
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
