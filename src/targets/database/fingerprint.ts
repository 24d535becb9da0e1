import type { Layout } from './layout.ts';

/**
 * SQL for the fingerprint of a stored token: computed by the server, so that no token leaves it. The
 * service's column holds the hash already.
 */
export function fingerprintOf(layout: Layout, column: string): string {
  return layout === 'service' ? `left(${column}, 12)` : digestOf(column);
}

/** SQL for the first 12 hex digits of the SHA-256 of a text. */
export function digestOf(column: string): string {
  return `left(encode(sha256(convert_to(${column}, 'UTF8')), 'hex'), 12)`;
}
