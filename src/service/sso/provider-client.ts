import type { Configuration, CustomFetch } from 'openid-client';
import { isLoopback } from '../settings/checks.ts';
import { SsoFailure } from './backends.ts';

/** What is needed to be a client of an issuer. */
interface Client {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

/** So long a discovery holds: providers change their keys and say so in the same place. */
const LIFETIME_MS = 600_000;
/** How long a provider may take to answer, in seconds. */
export const PROVIDER_PATIENCE = 10;
/** How far a provider's clock may be off, in seconds. */
export const CLOCK_TOLERANCE = 60;

interface Discovered {
  readonly client: Client;
  readonly until: number;
  readonly configuration: Promise<Configuration>;
}

/**
 * Discovers what OpenID providers are (OpenID Connect Discovery 1.0), and remembers it for ten minutes. Id
 * tokens are verified by their signature, although they come from the provider directly.
 */
export class Discoveries {
  readonly #known = new Map<string, Discovered>();

  /** The provider behind an issuer, for this client. Throws what the library throws. */
  find(client: Client): Promise<Configuration> {
    const { issuer, clientId, clientSecret } = client;
    const known = this.#known.get(issuer);
    const same = known?.client.clientId === clientId && known.client.clientSecret === clientSecret;
    if (known !== undefined && same && known.until > performance.now()) return known.configuration;
    const configuration = discover(client);
    this.#known.set(issuer, { client, until: performance.now() + LIFETIME_MS, configuration });
    // What failed is tried again the next time.
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
    { [library.clockTolerance]: CLOCK_TOLERANCE },
    library.ClientSecretPost(clientSecret),
    {
      timeout: PROVIDER_PATIENCE,
      [library.customFetch]: fetchBounded,
      execute: [
        library.enableNonRepudiationChecks,
        ...(isLoopback(server) ? [library.allowInsecureRequests] : []),
      ],
    },
  );
}

/** The longest answer of a provider that is read, in bytes: a hundred teams with all that GitHub says of them. */
const LONGEST = 4 * 1024 * 1024;

/** Asks a provider, and reads no more of the answer than any provider has to say. */
export const fetchBounded: CustomFetch = async (url, options) => {
  const response = await fetch(url, options as RequestInit);
  let left = LONGEST;
  const bounded = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      left -= chunk.byteLength;
      if (left < 0) controller.error(new Error('the answer is too long'));
      else controller.enqueue(chunk);
    },
  });
  return response.body === null ? response : new Response(response.body.pipeThrough(bounded), response);
};

/** What `openid-client` throws, in this service's words. Of an error only its message and code are kept: its cause may hold claims. */
export function libraryFailure(error: unknown): Error {
  if (error instanceof SsoFailure) return error;
  if (!(error instanceof Error)) return new Error('a library threw what is no error');
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  const detail = `${error.message}${code === '' ? '' : ` (${code})`}`;
  if (error.name === 'AuthorizationResponseError') {
    const said = 'error' in error && typeof error.error === 'string' ? error.error : 'an error';
    return new SsoFailure('refused_by_provider', `the provider answered ${said.slice(0, 100)}`);
  }
  const unreached = error instanceof TypeError && error.message === 'fetch failed';
  if (unreached || code === 'OAUTH_TIMEOUT' || code === 'OAUTH_ABORT' || error.name === 'TimeoutError') {
    return new SsoFailure('unreachable', detail);
  }
  return new SsoFailure('unverified', detail);
}
