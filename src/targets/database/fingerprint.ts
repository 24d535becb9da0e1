import type { Layout } from './layout.ts';
import { TABLES } from './tables.ts';

/**
 * SQL for the fingerprint of a stored token: computed by the server, so that no token leaves it. A column
 * may hold the hash already.
 */
export function fingerprintOf(layout: Layout, column: string): string {
  return TABLES[layout].hashed ? `left(${column}, 12)` : digestOf(column);
}

/** SQL for the SHA-256 (hex) of a stored token, which may be what is stored. */
export function hashOf(layout: Layout, column: string): string {
  return TABLES[layout].hashed ? column : sha256(column);
}

/** SQL for the first 12 hex digits of the SHA-256 of a text. */
export function digestOf(column: string): string {
  return `left(${sha256(column)}, 12)`;
}

function sha256(column: string): string {
  return `encode(sha256(convert_to(${column}, 'UTF8')), 'hex')`;
}
