import type { IDToken } from 'openid-client';
import { attributesOf, type Identity, LONGEST_UID, SsoFailure } from './backends.ts';
import type { AzureConfiguration, GoogleConfiguration } from './configuration.ts';

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
  if (who.uid.length > LONGEST_UID) throw new SsoFailure('unverified', 'the subject is too long');
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
