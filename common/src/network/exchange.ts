import { type Dispatcher, fetch } from 'undici';
import { isProtected } from '../network-address.ts';
import { openOutgoing, proxyFailure } from './outgoing.ts';

/** A `fetch` request with limits. */
interface BoundedRequest extends Omit<RequestInit, 'redirect'> {
  /** The maximum size of the body, in bytes. */
  readonly maxBytes: number;
  /** Whether the rest of a longer body is ignored, if only the status counts. */
  readonly cut?: boolean;
  /** By default a dispatcher that is closed after the response. */
  readonly dispatcher?: Dispatcher;
  /** The trusted authorities in PEM, if there is no dispatcher. */
  readonly ca?: string | undefined;
}

export class OverlongResponse extends Error {
  override readonly name = 'OverlongResponse';
}

/**
 * `fetch` for everything except the target: reads the whole response, follows no redirect, and uses the
 * proxy. Without a dispatcher, it accepts only https URLs, and http URLs of this machine.
 * @throws OverlongResponse; TokenctlError `target_unreachable` if the proxy fails; Error for an unprotected
 * URL, and as `fetch` does.
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

/** The code of an error, or of the first one if several addresses were tried. */
export function errorCode(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  if ('code' in error && typeof error.code === 'string') return error.code;
  if (error instanceof AggregateError && error.errors.length > 0) return errorCode(error.errors[0]);
  return error.cause === undefined ? error.name : errorCode(error.cause);
}
