import { TokenctlError } from '@tokenctl/common/errors.ts';
import { isLoopback } from '@tokenctl/common/network-address.ts';
import type { NamedContext, NamedRestContext } from './contexts.ts';
import { ENVIRONMENT_CONTEXT } from './schema.ts';

/** How others on the network can read a context's credential; null if they cannot. */
function insecurity({ url, verifyTls }: NamedRestContext): string | null {
  if (!URL.canParse(url)) return null;
  const { protocol, hostname } = new URL(url);
  if (isLoopback(hostname)) return null;
  if (protocol === 'http:') return 'over plain HTTP';
  return verifyTls === false ? 'without verifying the certificate' : null;
}

/**
 * The warning about a context whose credential others on the network can read; null for other contexts. The
 * context must allow it. `CONTROLLER_VERIFY_SSL=false` allows it for the environment's context.
 * @throws TokenctlError `configuration` if the context does not allow it.
 */
export function insecureWarning(context: NamedContext): string | null {
  if (context.database !== undefined) return null;
  const { name, url, insecure } = context;
  const how = insecurity(context);
  if (how === null) return null;
  const { host } = new URL(url);
  if (insecure === true) {
    return `The credential of the context "${name}" is sent to ${host} ${how}, so others on the network can read it.`;
  }
  throw new TokenctlError(
    'configuration',
    `The context "${name}" would send its credential to ${host} ${how}`,
    { hint: hintFor(name, how) },
  );
}

function hintFor(name: string, how: string): string {
  const better = how === 'over plain HTTP' ? 'Use https' : 'Specify its CA certificate as caFile';
  return name === ENVIRONMENT_CONTEXT
    ? `${better}, or set CONTROLLER_VERIFY_SSL=false to send it anyway.`
    : `${better}, or add "insecure: true" to the context to send it anyway.`;
}
