import { exchange } from '@tokenctl/common/network/exchange.ts';
import { proxyFailure } from '@tokenctl/common/network/outgoing.ts';
import { isLoopback } from '@tokenctl/common/network-address.ts';
import type { Configuration, CustomFetch } from 'openid-client';
import { CLOCK_TOLERANCE_S, SsoFailure } from './backends.ts';

/** The service's credentials at an issuer. */
interface Client {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

/** How long discovered metadata is cached, in milliseconds. Providers rotate their keys. */
const LIFETIME_MS = 600_000;
/** The timeout of a request to a provider, in seconds. */
export const PROVIDER_TIMEOUT_S = 10;

interface Discovered {
  readonly client: Client;
  readonly until: number;
  readonly configuration: Promise<Configuration>;
}

/** Caches metadata of OpenID providers (OpenID Connect Discovery 1.0). ID tokens are verified by signature. */
export class Discoveries {
  readonly #known = new Map<string, Discovered>();

  /** The provider's metadata for this client. Throws the errors of `openid-client`. */
  find(client: Client): Promise<Configuration> {
    const { issuer, clientId, clientSecret } = client;
    const known = this.#known.get(issuer);
    const same = known?.client.clientId === clientId && known.client.clientSecret === clientSecret;
    if (known !== undefined && same && known.until > performance.now()) return known.configuration;
    const configuration = discover(client);
    this.#known.set(issuer, { client, until: performance.now() + LIFETIME_MS, configuration });
    // Do not cache failures.
    configuration.catch(() => this.#known.delete(issuer));
    return configuration;
  }
}

async function discover({ issuer, clientId, clientSecret }: Client): Promise<Configuration> {
  const library = await import('openid-client');
  const server = new URL(issuer);
  return library.discovery(
    server,
    clientId,
    { [library.clockTolerance]: CLOCK_TOLERANCE_S },
    library.ClientSecretPost(clientSecret),
    {
      timeout: PROVIDER_TIMEOUT_S,
      [library.customFetch]: fetchBounded,
      execute: [
        library.enableNonRepudiationChecks,
        ...(isLoopback(server.hostname) ? [library.allowInsecureRequests] : []),
      ],
    },
  );
}

/** The maximum size of a response. A page of a hundred teams from GitHub fits. */
const MAX_RESPONSE_BYTES = 4 * 1024 * 1024;

/** `fetch` for the libraries that query providers. */
export const fetchBounded: CustomFetch = (url, options) =>
  exchange(url, { ...(options as RequestInit), maxBytes: MAX_RESPONSE_BYTES });

/** Converts an error from `openid-client` without parts that may contain claims or tokens. See {@link causes}. */
export function libraryFailure(error: unknown): Error {
  if (error instanceof SsoFailure) return error;
  const ofProxy = proxyFailure(error);
  if (ofProxy !== null) return new SsoFailure('unreachable', ofProxy.message);
  if (!(error instanceof Error)) return new Error('openid-client threw a value that is not an error');
  // Thrown by a `customFetch`.
  if (error.cause instanceof SsoFailure) return error.cause;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  const found = causes(error);
  const detail = `${error.message}${found === '' ? '' : ` (${found})`}`;
  if (error.name === 'AuthorizationResponseError') {
    return new SsoFailure('refused_by_provider', `the provider returned ${found || 'an error'}`);
  }
  const isNetworkError = error instanceof TypeError && error.message === 'fetch failed';
  if (isNetworkError || code === 'OAUTH_TIMEOUT' || code === 'OAUTH_ABORT' || error.name === 'TimeoutError') {
    const { cause } = error;
    const why = found === '' && cause instanceof Error ? `: ${cause.message.slice(0, 200)}` : '';
    return new SsoFailure('unreachable', `${detail}${why}`);
  }
  const status = Number(/\bstatus (\d{3})\b/.exec(found)?.[1]);
  return new SsoFailure(isUnavailable(status) ? 'unreachable' : 'unverified', detail);
}

/** Whether a status means that a provider is currently unavailable: a server error or a rate limit. */
export function isUnavailable(status: number): boolean {
  return status >= 500 || status === 429;
}

/** The parts of errors and their causes that may be logged: OAuth, system and library codes, and names of parts. */
const TOLD = ['code', 'error', 'status', 'claim', 'parameter', 'header', 'attribute', 'hostname'] as const;
const MAX_CAUSES = 5;

/** The loggable parts of an error and its causes: `code ECONNREFUSED`, `error invalid_client`, `claim aud`. */
function causes(error: Error): string {
  const parts = new Set<string>();
  let current: unknown = error;
  for (let depth = 0; depth < MAX_CAUSES && typeof current === 'object' && current !== null; depth += 1) {
    for (const name of TOLD) {
      const value = (current as Record<string, unknown>)[name];
      const text = typeof value === 'number' ? String(value) : value;
      if (typeof text === 'string' && /^[\w.:/-]{1,100}$/.test(text)) parts.add(`${name} ${text}`);
    }
    // The errors for each address of a host (Happy Eyeballs) are in a list.
    const [first] = current instanceof AggregateError ? (current.errors as unknown[]) : [];
    current = (current as { cause?: unknown }).cause ?? first;
  }
  return [...parts].join(', ');
}
