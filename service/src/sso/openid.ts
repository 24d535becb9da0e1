import type { IDToken } from 'openid-client';
import type { ServiceContext } from '../context.ts';
import type { ProviderSession } from '../store/sessions.ts';
import type { LoginDetails } from '../store/sso-logins.ts';
import { attributesOf, type Identity, isTrue, MAX_UID_LENGTH, SsoFailure, withheldBy } from './backends.ts';
import {
  type AzureConfiguration,
  GOOGLE,
  type GoogleConfiguration,
  type OidcConfiguration,
} from './configuration.ts';
import { libraryFailure } from './provider-client.ts';

export type OpenIdConfiguration = GoogleConfiguration | AzureConfiguration | OidcConfiguration;

export interface LoginRequest {
  readonly redirectUri: string;
  readonly state: string;
}

/** The URL to redirect to, and what to store for the callback. */
export interface ProviderRedirect {
  readonly url: string;
  readonly details: Pick<LoginDetails, 'nonce' | 'verifier' | 'idp' | 'requestId'>;
}

/** The provider's response at the redirect URI, with the login's stored details. */
export interface ProviderCallback {
  readonly state: string;
  readonly query: string;
  readonly details: LoginDetails;
}

/**
 * Starts a login with OpenID Connect: the authorization code flow with PKCE, state and nonce (RFC 9700,
 * section 2.1).
 * @throws SsoFailure `unreachable`, `unverified`.
 */
export async function beginOpenId(
  { discoveries }: ServiceContext,
  configuration: OpenIdConfiguration,
  { redirectUri, state }: LoginRequest,
): Promise<ProviderRedirect> {
  const library = await import('openid-client');
  const provider = await discoveries.find(configuration).catch(refuse);
  const verifier = library.randomPKCECodeVerifier();
  const nonce = library.randomNonce();
  const url = library.buildAuthorizationUrl(provider, {
    ...domainHint(configuration),
    ...('extra' in configuration ? configuration.extra : {}),
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
 * Exchanges the code for an ID token and verifies its signature, issuer, audience, nonce and times (OpenID
 * Connect Core 1.0, section 3.1.3.7), and the response's `iss` parameter (RFC 9207). Providers other than
 * Google and Entra may send further claims only from their UserInfo endpoint (section 5.3): it is queried if
 * the ID token has no user name or lacks a claim of the maps.
 * @param mapped The claims that the maps use.
 * @throws SsoFailure
 */
export async function completeOpenId(
  { discoveries }: ServiceContext,
  configuration: OpenIdConfiguration,
  { state, query, details, mapped }: ProviderCallback & { mapped: ReadonlySet<string> },
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
  if (claims === undefined) throw new SsoFailure('unverified', 'the response has no ID token');
  if (claims.sub === '') throw new SsoFailure('unverified', 'the claim sub is empty');
  const isComplete =
    (claims['email'] !== undefined || claims['preferred_username'] !== undefined) &&
    [...mapped].every((name) => Object.hasOwn(claims, name) || withheldBy(claims, mapped).includes(name));
  const hasAll = configuration.backend === 'azuread-oauth2' || configuration.issuer === GOOGLE;
  if (isComplete || hasAll || provider.serverMetadata().userinfo_endpoint === undefined) return claims;
  const more = await library.fetchUserInfo(provider, tokens.access_token, claims.sub).catch(refuse);
  // If both have a claim, the signed one counts.
  return { ...more, ...claims };
}

/** With `hd`, Google offers only accounts of one domain. This is only a hint: `googleIdentity` checks the domain. */
function domainHint(configuration: OpenIdConfiguration): Record<string, string> {
  const [domain, ...others] = 'domains' in configuration ? configuration.domains : [];
  return domain === undefined || others.length > 0 ? {} : { hd: domain };
}

function refuse(error: unknown): never {
  throw libraryFailure(error);
}

/** An account's id here. Another issuer may use the same subjects as Google. */
export function openIdUid(
  backend: OpenIdConfiguration['backend'],
  { iss, sub }: { iss: string; sub: string },
): string {
  return backend === 'google-oauth2' && iss === GOOGLE ? sub : `${iss}|${sub}`;
}

/** The maximum length of a stored session name. OpenID Connect sets no limit. */
const MAX_SID_LENGTH = 512;

/** The provider's session in an ID token, to match later events about it. */
export function openIdSession(
  backend: OpenIdConfiguration['backend'],
  claims: IDToken,
): Pick<ProviderSession, 'details' | 'ends'> {
  const sid = text(claims, 'sid');
  return {
    details: {
      uid: openIdUid(backend, claims),
      issued: new Date(claims.iat * 1000).toISOString(),
      ...(sid !== '' && sid.length <= MAX_SID_LENGTH && !sid.includes('\0') && { sid }),
    },
    ends: null,
  };
}

/**
 * The identity in a verified ID token from Google, or from an OpenID provider other than Google and Entra.
 *
 * Only the `hd` claim proves an account's domain. An address does not: a private account may have it, except
 * under gmail.com, which is Google's own domain.
 * @throws SsoFailure `not_allowed`.
 */
export function googleIdentity(
  configuration: GoogleConfiguration | OidcConfiguration,
  claims: IDToken,
  mapped: ReadonlySet<string> = new Set(),
): Identity {
  const email = isTrue(claims['email_verified']) ? text(claims, 'email').toLowerCase() : '';
  const { backend } = configuration;
  const domains = 'domains' in configuration ? configuration.domains : [];
  const domain = text(claims, 'hd').toLowerCase() || (email.endsWith('@gmail.com') ? 'gmail.com' : '');
  if (domains.length > 0 && !domains.includes(domain)) {
    throw new SsoFailure('not_allowed', `accounts of ${domain || 'no domain'} are not allowed to log in`);
  }
  const uid = openIdUid(backend, claims);
  const username = localPart(text(claims, 'preferred_username') || email);
  const attributes = attributesOf({ ...claims, email });
  const parts = { uid, email, username, names: [email], attributes, withheld: withheldBy(claims, mapped) };
  return identity(backend, claims, parts);
}

/**
 * The identity in a verified ID token from Microsoft Entra ID.
 *
 * A tenant's administrator can set any address, name and role. These are trusted only if logins are restricted to one
 * tenant or a list of tenants. Otherwise only claims that Entra itself assigns become attributes.
 * @throws SsoFailure `not_allowed`.
 */
export function azureIdentity(
  configuration: AzureConfiguration,
  claims: IDToken,
  mapped: ReadonlySet<string> = new Set(),
): Identity {
  const { tenants, severalTenants } = configuration;
  const tenant = text(claims, 'tid').toLowerCase();
  if (tenants.length > 0 && !tenants.includes(tenant)) {
    throw new SsoFailure(
      'not_allowed',
      `accounts of ${tenant ? `the tenant ${tenant}` : 'no tenant'} are not allowed to log in`,
    );
  }
  const trusted = !severalTenants || tenants.length > 0;
  const principal = text(claims, 'preferred_username') || text(claims, 'upn');
  const address = text(claims, 'email').toLowerCase();
  const email = trusted || isTrue(claims['email_verified']) ? address : '';
  return identity('azuread-oauth2', claims, {
    uid: openIdUid('azuread-oauth2', claims),
    email,
    username: localPart(principal || address),
    names: trusted ? [principal, email] : [email],
    attributes: attributesOf(trusted ? { ...claims, email } : claimsOfEntra({ ...claims, email })),
    withheld: trusted ? withheldBy(claims, mapped) : [],
  });
}

function identity(
  backend: Identity['backend'],
  claims: IDToken,
  parts: Pick<Identity, 'uid' | 'email' | 'username' | 'names' | 'attributes' | 'withheld'>,
): Identity {
  if (parts.uid.length > MAX_UID_LENGTH) throw new SsoFailure('unverified', 'the subject is too long');
  const [first = '', ...rest] = text(claims, 'name').split(' ');
  return {
    backend,
    ...parts,
    names: parts.names.filter((name) => name !== ''),
    firstName: text(claims, 'given_name') || first,
    lastName: text(claims, 'family_name') || rest.join(' '),
  };
}

/** The claims that a tenant cannot choose. The address is empty unless verified. */
function claimsOfEntra({ iss, tid, oid, sub, email }: Readonly<Record<string, unknown>>) {
  return { iss, tid, oid, sub, email };
}

function text(claims: IDToken, name: string): string {
  const value = claims[name];
  return typeof value === 'string' ? value : '';
}

function localPart(address: string): string {
  return address.split('@')[0] ?? '';
}
