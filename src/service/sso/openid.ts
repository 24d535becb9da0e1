import type { IDToken } from 'openid-client';
import type { ServiceContext } from '../context.ts';
import type { LoginDetails } from '../store/sso-logins.ts';
import { SsoFailure } from './backends.ts';
import type { AzureConfiguration, GoogleConfiguration } from './configuration.ts';
import { libraryFailure } from './library-failure.ts';

type OpenIdConfiguration = GoogleConfiguration | AzureConfiguration;

/** A login that is about to be begun. */
export interface Beginning {
  readonly redirectUri: string;
  readonly state: string;
}

/** Where to send a user, and what has to be known when he or she comes back. */
export interface Departure {
  readonly url: string;
  readonly details: Pick<LoginDetails, 'nonce' | 'verifier' | 'idp' | 'requestId'>;
}

/** An answer that came back to the redirect URI. */
export interface Arrival {
  readonly state: string;
  /** The query string. */
  readonly query: string;
  readonly details: LoginDetails;
}

/**
 * Begins a login with OpenID Connect: the authorization code flow with PKCE, state and nonce (RFC 9700 §2.1).
 *
 * @throws SsoFailure `unreachable`, `unverified`.
 */
export async function beginOpenId(
  { discoveries }: ServiceContext,
  configuration: OpenIdConfiguration,
  { redirectUri, state }: Beginning,
): Promise<Departure> {
  const library = await import('openid-client');
  const provider = await discoveries.find(configuration).catch(refuse);
  const verifier = library.randomPKCECodeVerifier();
  const nonce = library.randomNonce();
  const url = library.buildAuthorizationUrl(provider, {
    ...domainHint(configuration),
    ...configuration.extra,
    response_type: 'code',
    redirect_uri: redirectUri,
    scope: 'openid profile email',
    state,
    nonce,
    code_challenge: await library.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  });
  return { url: url.href, details: { nonce, verifier } };
}

/**
 * Completes it: fetches the id token for the code, and verifies its signature, issuer, audience, nonce and
 * times (OpenID Connect Core 1.0, section 3.1.3.7), and the `iss` of the answer (RFC 9207).
 *
 * @throws SsoFailure
 */
export async function completeOpenId(
  { discoveries }: ServiceContext,
  configuration: OpenIdConfiguration,
  { state, query, details }: Arrival,
): Promise<IDToken> {
  const library = await import('openid-client');
  const provider = await discoveries.find(configuration).catch(refuse);
  const tokens = await library
    .authorizationCodeGrant(provider, new URL(`${details.redirectUri}?${query}`), {
      expectedState: state,
      expectedNonce: details.nonce ?? '',
      pkceCodeVerifier: details.verifier ?? '',
      idTokenExpected: true,
    })
    .catch(refuse);
  const claims = tokens.claims();
  if (claims === undefined) throw new SsoFailure('unverified', 'there is no id token');
  return claims;
}

/** Google shows the accounts of one domain where it is told so; whether it is that domain's is checked later. */
function domainHint(configuration: OpenIdConfiguration): Record<string, string> {
  const [domain, ...others] = 'domains' in configuration ? configuration.domains : [];
  return domain === undefined || others.length > 0 ? {} : { hd: domain };
}

function refuse(error: unknown): never {
  throw libraryFailure(error);
}
