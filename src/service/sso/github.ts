import type { Configuration } from 'openid-client';
import { isLoopback } from '../settings/checks.ts';
import { SsoFailure } from './backends.ts';
import type { GithubConfiguration } from './configuration.ts';
import { CLOCK_TOLERANCE, PROVIDER_PATIENCE } from './discoveries.ts';
import { libraryFailure } from './library-failure.ts';
import type { Arrival, Beginning, Departure } from './openid.ts';
import { fetchBounded } from './provider-fetch.ts';

/** A way to ask the API of GitHub in the name of the user who logs in: a path, and the page of it. */
export type AskGithub = (path: string) => Promise<unknown>;

/** What is asked of GitHub: who the user is, the addresses, and which organizations and teams. */
const SCOPE = 'read:user user:email read:org';
/** How long all questions of one login may take together, in milliseconds. */
const PATIENCE_MS = 30_000;

/** Begins a login at GitHub: OAuth2 with PKCE and state. GitHub is no OpenID provider, there is nothing to discover. */
export async function beginGithub(
  configuration: GithubConfiguration,
  { redirectUri, state }: Beginning,
): Promise<Departure> {
  const library = await import('openid-client');
  const verifier = library.randomPKCECodeVerifier();
  const url = library.buildAuthorizationUrl(await providerOf(configuration), {
    response_type: 'code',
    redirect_uri: redirectUri,
    scope: SCOPE,
    state,
    code_challenge: await library.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  });
  return { url: url.href, details: { verifier } };
}

/**
 * Completes it: fetches an access token for the code, to ask the API with.
 *
 * @throws SsoFailure
 */
export async function completeGithub(
  configuration: GithubConfiguration,
  { state, query, details }: Arrival,
): Promise<AskGithub> {
  const library = await import('openid-client');
  const provider = await providerOf(configuration);
  const refuse = (error: unknown): never => {
    throw libraryFailure(error);
  };
  const { access_token } = await library
    .authorizationCodeGrant(provider, new URL(`${details.redirectUri}?${query}`), {
      expectedState: state,
      pkceCodeVerifier: details.verifier ?? '',
    })
    .catch(refuse);
  const until = performance.now() + PATIENCE_MS;
  return async (path) => {
    if (performance.now() > until) throw new SsoFailure('unreachable', 'GitHub answers too slowly');
    const url = new URL(`${configuration.apiUrl}${path}`);
    const headers = new Headers({ accept: 'application/vnd.github+json' });
    const response = await library
      .fetchProtectedResource(provider, access_token, url, 'GET', undefined, headers)
      .catch(refuse);
    if (!response.ok)
      throw libraryFailure(new Error(`GitHub answered ${path.split('?')[0]} with ${response.status}`));
    return response.json().catch(refuse);
  };
}

async function providerOf({ url, clientId, clientSecret }: GithubConfiguration): Promise<Configuration> {
  const library = await import('openid-client');
  const provider = new library.Configuration(
    {
      // What GitHub calls itself in `iss` of its answers (RFC 9207); one that has none is taken as well.
      issuer: `${url}/login/oauth`,
      authorization_endpoint: `${url}/login/oauth/authorize`,
      token_endpoint: `${url}/login/oauth/access_token`,
    },
    clientId,
    { [library.clockTolerance]: CLOCK_TOLERANCE },
    library.ClientSecretPost(clientSecret),
  );
  provider.timeout = PROVIDER_PATIENCE;
  provider[library.customFetch] = fetchBounded;
  if (isLoopback(new URL(url))) library.allowInsecureRequests(provider);
  return provider;
}
