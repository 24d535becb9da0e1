import { isIPv6 } from 'node:net';
import type { FastifyInstance } from 'fastify';

declare module 'fastify' {
  interface FastifyRequest {
    /** What the client is counted under, as of when the request came: one who hangs up has no address any more. */
    network: string;
  }
}

/** Notes of each request what its client is counted under, before anything else is done with it. */
export function setClientNetworks(app: FastifyInstance): void {
  app.decorateRequest('network', '');
  app.addHook('onRequest', async (request) => {
    // Without a type for it: the address of a connection that is gone is undefined.
    request.network = clientNetwork(request.ip ?? 'gone');
  });
}

/**
 * What a client is counted under: its IPv4 address, or the /64 of its IPv6 address, of which one client has
 * as many addresses as it likes.
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
