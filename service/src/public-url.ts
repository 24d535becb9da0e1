import { isIP } from 'node:net';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { isLoopback, isProtected } from '@tokenctl/common/network-address.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { badRequest, RequestFailure } from './failure.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The service's URL for the client, without a trailing slash: the configured one, or a loopback address. */
    issuer: string;
  }
}

/** The origin of a public URL. Throws `usage` for anything but https://HOST[:PORT], or http on loopback. */
export function publicOrigin(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isPlain = url !== null && url.href === `${url.origin}/` && url.hostname !== '';
  if (isPlain && isProtected(url)) return url.origin;
  throw new TokenctlError('usage', `Invalid public URL ${JSON.stringify(text)}`, {
    hint: 'Use the address that browsers use, such as https://automation.example.org, without a path.',
  });
}

/**
 * Sets the issuer of each request before other hooks read it, and refuses requests for other host names. Otherwise
 * links, redirects and the issuer would follow any client's Host header, and another site's page could reach the
 * service under that site's name (DNS rebinding). An IP address in the Host header cannot be rebound. A request with
 * two Host headers is refused (RFC 9112 section 3.2): a proxy may have read the other one.
 * @param publicUrl The origin; null to accept loopback names only.
 */
export function setIssuer(app: FastifyInstance, publicUrl: string | null): void {
  app.decorateRequest('issuer', '');
  // Most requests name the same host as the previous one.
  let last:
    | { readonly name: string; readonly origin: string | undefined; readonly known: boolean }
    | undefined;
  app.addHook('onRequest', (request, _reply, done) => {
    if (hostHeaders(request) > 1) throw badRequest('The request has more than one Host header.');
    const name = `${request.protocol}://${request.host}`;
    if (last?.name !== name) {
      const requested = requestedUrl(request);
      last = { name, origin: requested?.origin, known: requested !== null && isKnown(requested, publicUrl) };
    }
    request.issuer = publicUrl ?? last.origin ?? '';
    if (last.known) return done();
    throw new RequestFailure(421, {
      detail:
        publicUrl === null
          ? 'This name is not configured. Start the service with --public-url to use a name other than localhost.'
          : `This name is not configured. The service's address is ${publicUrl} (--public-url).`,
    });
  });
}

/** Node.js keeps the first Host header and drops the others. */
function hostHeaders({ raw }: FastifyRequest): number {
  return raw.rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host').length;
}

function requestedUrl({ protocol, host }: FastifyRequest): URL | null {
  const text = `${protocol}://${host}`;
  const url = URL.canParse(text) ? new URL(text) : null;
  return url !== null && url.href === `${url.origin}/` ? url : null;
}

function isKnown({ hostname, host }: URL, publicUrl: string | null): boolean {
  if (isLoopback(hostname)) return true;
  if (publicUrl === null) return false;
  const known = new URL(publicUrl);
  // A proxy may forward its own port or none.
  return host === known.host || hostname === known.hostname || isIP(hostname.replace(/[[\]]/g, '')) !== 0;
}

/** The origins whose forms the service accepts: its public one and the request's. */
export function ownOrigins(request: FastifyRequest): readonly (string | undefined)[] {
  return [request.issuer, requestedUrl(request)?.origin];
}
