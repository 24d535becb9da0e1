/** How records are told apart on a connection. */
export type Framing = 'octets' | 'lines';

/**
 * Records as they go over a connection: with their length before each (octet counting: RFC 5425, section 4.3, and
 * RFC 6587, section 3.4.1), as messages of syslog do, or a line each.
 */
export function framed(records: readonly string[], framing: Framing): Buffer {
  if (framing === 'lines') return Buffer.from(`${records.join('\n')}\n`);
  return Buffer.from(records.map((record) => `${Buffer.byteLength(record)} ${record}`).join(''));
}
