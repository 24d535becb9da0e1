import { TokenctlError } from '../domain/errors.ts';
import type { ServiceOptions } from './server.ts';

type ListenAddress = Pick<ServiceOptions, 'host' | 'port' | 'tls' | 'behindProxy'>;

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|::1)$/;

/** Refuses an address at which passwords and tokens would travel in clear. Throws TokenctlError `usage`. */
export function refuseClearText({ host, tls, behindProxy }: ListenAddress): void {
  if (LOOPBACK.test(host) || tls !== undefined || behindProxy) return;
  throw new TokenctlError(
    'usage',
    `Listening on ${host} would send passwords and tokens through the network in clear`,
    { hint: 'Give --tls-cert and --tls-key, or --behind-proxy where a proxy in front speaks TLS.' },
  );
}

/** Why the service cannot listen, in words. */
export function cannotListen({ host, port }: ListenAddress, cause: unknown): TokenctlError {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown';
  const why: Readonly<Record<string, string>> = {
    EADDRINUSE: 'the port is taken',
    EACCES: 'this user may not use that port',
    EADDRNOTAVAIL: 'this machine has no such address',
    ENOTFOUND: 'there is no host of that name',
  };
  return new TokenctlError('usage', `The service cannot listen on ${host}:${port}: ${why[code] ?? code}`, {
    cause,
    hint: 'Choose another --port or --host.',
  });
}

/** The base URL of a service that listens, without a slash at the end. */
export function baseUrl({ host, tls }: ListenAddress, port: number): string {
  const name = host.includes(':') ? `[${host}]` : host;
  return `${tls === undefined ? 'http' : 'https'}://${name}:${port}`;
}
