import type { FastifyRequest } from 'fastify';
import { badRequest } from '../failure.ts';
import { issuerOf } from '../oauth2/metadata.ts';
import type { Backend } from './backends.ts';

/**
 * Where a provider sends users back to: below the address under which this service is reached. Providers
 * know that address, and send nobody elsewhere, whatever a Host header says.
 *
 * @throws RequestFailure 400 where the Host header is no host.
 */
export function callbackUrl(request: FastifyRequest, backend: Backend): string {
  const base = issuerOf(request);
  if (!URL.canParse(base) || !/^https?:\/\/[^/?#@\\]+$/.test(base)) {
    throw badRequest('The Host header is not a host.');
  }
  return `${base}/sso/complete/${backend}/`;
}
