import type { IDToken } from 'openid-client';
import type { ServiceContext } from '../context.ts';
import type { LoginDetails } from '../store/sso-logins.ts';
import { attributesOf, type Identity, MAX_UID_LENGTH, SsoFailure } from './backends.ts';
import type { AzureConfiguration, GoogleConfiguration } from './configuration.ts';
import { libraryFailure } from './provider-client.ts';

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

const GOOGLE = 'https://accounts.google.com';

/**
 * Who the user of a verified id token of Google is.
 *
 * An account belongs to a domain if Google says so (`hd`): an address alone may be that of a private account.
 * Addresses of gmail.com are Google's own.
 *
 * @throws SsoFailure `not_allowed`.
 */
export function googleIdentity(configuration: GoogleConfiguration, claims: IDToken): Identity {
  const email = claims['email_verified'] === true ? text(claims, 'email').toLowerCase() : '';
  const { domains } = configuration;
  const domain = text(claims, 'hd').toLowerCase() || (email.endsWith('@gmail.com') ? 'gmail.com' : '');
  if (domains.length > 0 && !domains.includes(domain)) {
    throw new SsoFailure('not_allowed', `the account belongs to ${domain || 'no domain'}`);
  }
  // The names of accounts at another issuer could be the same as at Google.
  const uid = claims.iss === GOOGLE ? claims.sub : `${claims.iss}|${claims.sub}`;
  const username = localPart(text(claims, 'preferred_username') || email);
  const attributes = attributesOf({ ...claims, email });
  return identity('google-oauth2', claims, { uid, email, username, names: [email], attributes });
}

/**
 * Who the user of a verified id token of Microsoft Entra is.
 *
 * Anybody can run a tenant and write any address, name and role there: what it says of a user counts only
 * where a single tenant, or those that are named, can log in. From elsewhere only what Entra itself gives out
 * is an attribute.
 *
 * @throws SsoFailure `not_allowed`.
 */
export function azureIdentity(configuration: AzureConfiguration, claims: IDToken): Identity {
  const { tenants, severalTenants } = configuration;
  const tenant = text(claims, 'tid').toLowerCase();
  if (tenants.length > 0 && !tenants.includes(tenant)) {
    throw new SsoFailure('not_allowed', `the account belongs to the tenant ${tenant || 'that is not named'}`);
  }
  const vouched = !severalTenants || tenants.length > 0;
  const principal = text(claims, 'preferred_username') || text(claims, 'upn');
  const address = text(claims, 'email').toLowerCase();
  const email = vouched || claims['email_verified'] === true ? address : '';
  return identity('azuread-oauth2', claims, {
    uid: `${claims.iss}|${claims.sub}`,
    email,
    username: localPart(principal || address),
    names: vouched ? [principal, email] : [email],
    attributes: attributesOf(vouched ? { ...claims, email } : ofEntra({ ...claims, email })),
  });
}

function identity(
  backend: Identity['backend'],
  claims: IDToken,
  who: Pick<Identity, 'uid' | 'email' | 'username' | 'names' | 'attributes'>,
): Identity {
  if (who.uid.length > MAX_UID_LENGTH) throw new SsoFailure('unverified', 'the subject is too long');
  const [first = '', ...rest] = text(claims, 'name').split(' ');
  return {
    backend,
    ...who,
    names: who.names.filter((name) => name !== ''),
    firstName: text(claims, 'given_name') || first,
    lastName: text(claims, 'family_name') || rest.join(' '),
  };
}

/** Of claims those that no tenant can choose; the address is there only where it is verified. */
function ofEntra({ iss, tid, oid, sub, email }: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return { iss, tid, oid, sub, email };
}

function text(claims: IDToken, name: string): string {
  const value = claims[name];
  return typeof value === 'string' ? value : '';
}

function localPart(address: string): string {
  return address.split('@')[0] ?? '';
}
