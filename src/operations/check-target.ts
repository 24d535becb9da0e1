import type { Target, TargetDescription } from './ports.ts';

/** A target as found, with what the caller ought to know about working on it. */
export type CheckedTarget = TargetDescription & { readonly warnings: readonly string[] };

/**
 * Finds out who answers at a target, who the caller is there, and what stands in the way of
 * administering its tokens. Reads only.
 *
 * @throws What the target throws: an error of its own for a name, port, certificate or credential that
 * is wrong.
 */
export async function checkTarget(options: { target: Target }): Promise<CheckedTarget> {
  const description = await options.target.describe();
  return { ...description, warnings: warnings(description) };
}

function warnings({ identity, transport, address, credential, capabilities }: TargetDescription): string[] {
  const found: string[] = [];
  if (transport === 'http' && !isLoopback(new URL(address).hostname)) {
    found.push('The connection is not encrypted: whoever can listen in learns the credential.');
  }
  if (transport === 'https_unverified') {
    found.push('The certificate is not checked: anybody in between can pose as the controller.');
  }
  if (!capabilities.changes) {
    found.push('The token has the scope read: nothing can be revoked or changed with it.');
  }
  if (!identity.isSuperuser && !identity.isSystemAuditor) {
    found.push(`${identity.username} is no superuser: only its own tokens are seen, and settings are not.`);
  }
  if (!identity.isSuperuser && identity.isSystemAuditor) {
    found.push(`${identity.username} is a system auditor: it sees every token, and may revoke only its own.`);
  }
  if (credential === 'password') {
    found.push('A password is used: it stops working when basic authentication is turned off.');
  }
  return found;
}

/** Whether an address stays on this machine: names of RFC 6761, addresses of RFC 1122 and RFC 4291. */
function isLoopback(hostname: string): boolean {
  return (
    hostname === 'localhost' ||
    hostname.endsWith('.localhost') ||
    hostname === '[::1]' ||
    /^127\./.test(hostname)
  );
}
