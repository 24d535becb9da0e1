import type { IncomingHttpHeaders } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { errorCode } from '@tokenctl/common/network/exchange.ts';

/** A response larger than any response of a controller. */
export class OversizedResponse extends Error {
  override readonly name = 'OversizedResponse';
}

export class SlowResponse extends Error {
  override readonly name = 'SlowResponse';

  constructor(bytes: number, seconds: number) {
    super(`${bytes} ${bytes === 1 ? 'byte' : 'bytes'} in ${Math.round(seconds)} s`);
  }
}

/** A response with too many interim responses (RFC 9110 §15.2). */
export class InterimResponses extends Error {
  override readonly name = 'InterimResponses';
}

const MAX_ATTEMPTS = 6;
/** The first delay. Each further one is twice as long. */
const FIRST_DELAY_MS = 200;
/** A controller that asks for a longer delay in Retry-After gets no further attempt. */
const MAX_RETRY_AFTER_MS = 60_000;

/** A server, or the proxy in front of it, is overloaded or briefly unavailable. */
const TRANSIENT_STATUS = new Set([429, 502, 503, 504]);
/** Broken connections, after which the same request may succeed. */
const TRANSIENT_CODES = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);

/** Whether the same request may succeed later. */
export function isTransient({ status }: { status: number }): boolean {
  return TRANSIENT_STATUS.has(status);
}

/**
 * Retries an idempotent request (RFC 9110 §9.2.2) while its failure is transient: broken connections, and
 * 429, 502, 503 and 504. It waits as long as Retry-After says (RFC 9110 §10.2.3), or twice as long each time.
 * @param options.hasResponded Whether the server has responded before: then it refuses connections because it
 * restarts.
 * @returns The last response, whatever its status.
 * @throws The last network error.
 */
export async function withRetries<
  Response extends { readonly status: number; readonly headers: IncomingHttpHeaders },
>(options: { send: () => Promise<Response>; hasResponded: () => boolean }): Promise<Response> {
  for (let attempt = 1; ; attempt += 1) {
    const isLast = attempt === MAX_ATTEMPTS;
    try {
      const response = await options.send();
      if (isLast || !isTransient(response)) return response;
      const delay = retryDelay(attempt, response.headers['retry-after']);
      if (delay === null) return response;
      await sleep(delay);
    } catch (error) {
      const code = errorCode(error);
      const retry = TRANSIENT_CODES.has(code) || (code === 'ECONNREFUSED' && options.hasResponded());
      if (isLast || !retry) throw error;
      await sleep(retryDelay(attempt) ?? 0);
    }
  }
}

/** The wait after an attempt, in milliseconds, with up to half as jitter; null if Retry-After exceeds a minute. */
export function retryDelay(attempt: number, retryAfter?: string, now: number = Date.now()): number | null {
  const requested = retryAfter === undefined ? Number.NaN : parseRetryAfter(retryAfter, now);
  if (requested > MAX_RETRY_AFTER_MS) return null;
  const delay = FIRST_DELAY_MS * 2 ** (attempt - 1);
  return Math.max(Number.isNaN(requested) ? 0 : requested, 0) + delay * (0.5 + Math.random() / 2);
}

/** Retry-After is a number of seconds or a date. */
function parseRetryAfter(retryAfter: string, now: number): number {
  return /^\d+$/.test(retryAfter) ? Number(retryAfter) * 1000 : Date.parse(retryAfter) - now;
}

/**
 * Explains why a controller could not be reached. The message contains the address, never the credential.
 * @param proxy The proxy of the requests, which may be the cause.
 */
export function networkError(cause: unknown, origin: string, proxy: string | null = null): TokenctlError {
  if (cause instanceof TokenctlError) return cause;
  if (cause instanceof OversizedResponse || cause instanceof InterimResponses) {
    const what =
      cause instanceof OversizedResponse
        ? 'a response that is too large for a controller'
        : 'only interim responses and no final response';
    return new TokenctlError('target_misbehaved', `${origin} sent ${what}`, {
      hint: 'Check which server answers at this address.',
    });
  }
  if (cause instanceof SlowResponse) {
    return new TokenctlError(
      'target_unreachable',
      `${new URL(origin).host} sends its response too slowly: ${cause.message}`,
      { hint: 'Check the health of the controller and the network, and try again.' },
    );
  }
  const code = errorCode(cause);
  const [message, hint] = explain(code);
  const { host, hostname } = new URL(origin);
  return new TokenctlError(
    'target_unreachable',
    message.replace('{host}', host).replace('{name}', hostname).replace('{code}', code),
    { hint: proxy === null ? hint : `${hint} Requests go through the proxy ${proxy}.`, cause },
  );
}

/** Placeholders in the message: `{host}` for name and port, `{name}` for the name, `{code}` for the error code. */
type Explanation = readonly [message: string, hint: string];

/** By the error codes of the system, of undici, and of Node.js and OpenSSL for TLS. The first match counts. */
const EXPLANATIONS: readonly (readonly [codes: RegExp, ...Explanation])[] = [
  [
    /^(ENOTFOUND|EAI_AGAIN)$/,
    'The host name {name} was not found',
    'Check the spelling of the address and the DNS settings of this machine.',
  ],
  [/^ECONNREFUSED$/, '{host} refused the connection', 'Check the port, and that the controller is running.'],
  [
    /^(EHOSTUNREACH|ENETUNREACH|EHOSTDOWN)$/,
    'There is no route to {host}',
    'Check the network, the VPN and the firewall.',
  ],
  [
    /^(UND_ERR_CONNECT_TIMEOUT|ETIMEDOUT)$/,
    'The connection to {host} timed out',
    'Check the address and the firewalls in between.',
  ],
  [
    /^UND_ERR_(HEADERS|BODY)_TIMEOUT$/,
    '{host} did not respond in time',
    'Check the health of the controller, and try again.',
  ],
  [
    /^(ECONNRESET|EPIPE|UND_ERR_SOCKET)$/,
    '{host} closed the connection',
    'Check the port, whether it expects https or http, and the health of the controller.',
  ],
  [
    /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_VERIFY_LEAF_SIGNATURE|UNABLE_TO_GET_ISSUER_CERT(_LOCALLY)?)$/,
    'The certificate of {host} is not signed by a trusted authority',
    'Specify the CA certificate as a PEM file: `caFile` of the context, or --ca-file of `tokenctl login` and `tokenctl context add`.',
  ],
  [
    /^ERR_TLS_CERT_ALTNAME_INVALID$/,
    'The certificate of {host} is for another host name',
    'Use the host name in the certificate.',
  ],
  [/^CERT_HAS_EXPIRED$/, 'The certificate of {host} has expired', 'Renew it.'],
  [/^CERT_NOT_YET_VALID$/, 'The certificate of {host} is not valid yet', "Check this machine's clock."],
  [
    /^(HPE_|HTTPParserError)/,
    '{host} does not speak HTTP on this port',
    'Check the port, and whether the address should start with https.',
  ],
  [
    /^(EPROTO|ERR_SSL_|ERR_TLS_|CERT_)/,
    'The TLS connection to {host} failed ({code})',
    'Check the port, and whether the address should start with http.',
  ],
  [/^/, '{host} could not be reached ({code})', 'Check the address.'],
];

function explain(code: string): Explanation {
  const [, message = '', hint = ''] = EXPLANATIONS.find(([codes]) => codes.test(code)) ?? [];
  return [message, hint];
}
