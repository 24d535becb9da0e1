import type { Configuration } from 'openid-client';
import { isLoopback } from '../settings/checks.ts';
import { fetchBounded } from './provider-fetch.ts';

/** What is needed to be a client of an issuer. */
export interface Client {
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
