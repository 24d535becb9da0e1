import { isIPv6 } from 'node:net';
import type { FastifyInstance } from 'fastify';

declare module 'fastify' {
  interface FastifyRequest {
    /**
     * The client's network for rate limits, as of the start of the request: a closed connection has no address.
     */
    network: string;
  }
}

/** Sets the network of each request before any other hook. */
export function setClientNetworks(app: FastifyInstance): void {
  app.decorateRequest('network', '');
  app.addHook('onRequest', async (request) => {
    // Missing from the types: the address of a closed connection is undefined.
    request.network = clientNetwork(request.ip ?? 'gone');
  });
}

/**
 * The network of a client for rate limits: its IPv4 address, or the /64 of its IPv6 address, since one client
 * can use all addresses of a /64.
 */
export function clientNetwork(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (!isIPv6(address)) return address;
  const [head = '', tail] = address.replace(/%.*$/, '').split('::');
  const before = head.split(':').filter((group) => group !== '');
  const after = tail?.split(':').filter((group) => group !== '') ?? [];
  const zeros = Array.from({ length: Math.max(0, 8 - before.length - after.length) }, () => '0');
  const groups = [...before, ...zeros, ...after].slice(0, 4);
  return `${groups.map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/64`;
}
