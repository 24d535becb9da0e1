import { fetchOutgoing } from '../network/outgoing.ts';

/**
 * `fetch` that reads a limited response and follows no redirect. It reaches https addresses only, and http addresses of this
 * machine.
 *
 * @throws Error for another address, a longer response, and as `fetch` does
 */
export async function fetchLimited(
  address: string,
  { maxBytes, ...options }: RequestInit & { readonly maxBytes: number },
): Promise<Response> {
  const url = new URL(address);
  if (!isProtected(url)) throw new Error('only https addresses are read');
  return await fetchOutgoing(url, { ...options, redirect: 'manual' }, (response) =>
    wholeResponse(response, maxBytes),
  );
}

/** A response whose body was read. Throws Error for a longer one. */
export async function wholeResponse(response: Response, maxBytes: number): Promise<Response> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    if (size > maxBytes) throw new Error('the response is too long');
    chunks.push(chunk);
  }
  const { status, headers } = response;
  const hasBody = status >= 200 && status <= 599 && ![204, 205, 304].includes(status);
  return new Response(hasBody ? Buffer.concat(chunks) : null, {
    status,
    headers: [...headers],
  });
}

/** Whether nobody on the way can read or change what is sent: https, or an address of this machine. */
function isProtected({ protocol, hostname }: URL): boolean {
  if (protocol === 'https:') return true;
  return protocol === 'http:' && /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(hostname);
}
