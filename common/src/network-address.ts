/** An IPv4 address mapped into IPv6 (RFC 4291 §2.5.5.2). */
const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;
/** An IPv6 address in one of its forms (RFC 4291 §2.2), optionally with a zone. */
const IPV6 = /^(?=.*:)[\da-f:.]+(?:%.*)?$/i;
/** How many of its eight groups belong to the network. */
const NETWORK_GROUPS = 4;

/** A client's network for rate limits: its IPv4 address, or the /64 of IPv6, all of which one client can use. */
export function clientNetwork(address: string): string {
  const mapped = MAPPED.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (!IPV6.test(address)) return address;
  const [head = '', tail] = address.replace(/%.*$/, '').split('::');
  const before = head.split(':').filter((group) => group !== '');
  const after = tail?.split(':').filter((group) => group !== '') ?? [];
  const zeros = Array.from({ length: Math.max(0, 8 - before.length - after.length) }, () => '0');
  const groups = [...before, ...zeros, ...after].slice(0, NETWORK_GROUPS);
  return `${groups.map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/64`;
}

/** Whether a host is this machine: names of RFC 6761, addresses of RFC 1122 and RFC 4291, with or without brackets. */
export function isLoopback(host: string): boolean {
  return /^(?:localhost|.+\.localhost|\[?::1\]?|127(?:\.\d+){3})$/.test(host);
}

/** Whether no one on the network can read or change the traffic: https, or an address of this machine. */
export function isProtected({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname));
}
