import { type Dispatcher, fetch } from 'undici';
import { isProtected } from '../network-address.ts';
import { openOutgoing, proxyFailure } from './outgoing.ts';

/** A request as `fetch` takes it, and its limits. */
interface BoundedRequest extends Omit<RequestInit, 'redirect'> {
  /** The longest body that is read, in bytes. */
  readonly maxBytes: number;
  /** Whether the rest of a longer body is left unread, where only the status counts. */
  readonly cut?: boolean;
  /** The way to the host; by default one that ends with the response. */
  readonly dispatcher?: Dispatcher;
  /** PEM of the authorities to trust, without a dispatcher. */
  readonly ca?: string | undefined;
}

/** A response that is longer than its reader allows. */
export class OverlongResponse extends Error {
  override readonly name = 'OverlongResponse';
}

/**
 * `fetch` for all that is not the target: reads the response whole, follows no redirect, and goes through the
 * proxy. Without a dispatcher, it reaches https addresses only, and http addresses of this machine.
 * @throws OverlongResponse; TokenctlError `target_unreachable` if the proxy is what fails; Error for an
 * address that is not protected, and as `fetch` does.
 */
export async function exchange(address: string | URL, request: BoundedRequest): Promise<Response> {
  const { maxBytes, cut = false, dispatcher, ca, ...options } = request;
  const url = new URL(address);
  if (dispatcher === undefined && !isProtected(url)) throw new Error('only https addresses are supported');
  const sent = new Headers(options.headers);
  if (!sent.has('user-agent')) sent.set('user-agent', 'tokenctl');
  const way = dispatcher ?? openOutgoing(url, ca === undefined ? {} : { connect: { ca } }).dispatcher;
  try {
    const { status, headers, body } = await fetch(url, {
      ...(options as object),
      headers: [...sent],
      redirect: 'manual',
      dispatcher: way,
    });
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of body ?? []) {
      size += chunk.byteLength;
      if (size > maxBytes && cut) break;
      if (size > maxBytes) throw new OverlongResponse('the response is too long');
      chunks.push(chunk);
    }
    const hasBody = status >= 200 && status <= 599 && ![204, 205, 304].includes(status);
    return new Response(hasBody ? Buffer.concat(chunks) : null, { status, headers: [...headers] });
  } catch (cause) {
    throw proxyFailure(cause) ?? cause;
  } finally {
    if (dispatcher === undefined) await way.destroy();
  }
}

/** The code of an error, or of the first one where several addresses were tried. */
export function errorCode(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  if ('code' in error && typeof error.code === 'string') return error.code;
  if (error instanceof AggregateError && error.errors.length > 0) return errorCode(error.errors[0]);
  return error.cause === undefined ? error.name : errorCode(error.cause);
}
