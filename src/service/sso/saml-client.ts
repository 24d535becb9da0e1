import type { SAML } from '@node-saml/node-saml';
import type { SamlIdp } from '../settings/sso-schemas.ts';
import { SsoFailure } from './backends.ts';
import type { SamlConfiguration } from './configuration.ts';
import type { Beginning, Departure } from './openid.ts';
import { CLOCK_TOLERANCE } from './provider-client.ts';

/** How long a user may take at an identity provider, in milliseconds. */
export const LOGIN_LIFETIME_MS = 600_000;

/** A request of ours that an answer has to be for. */
export interface AskedRequest {
  readonly id: string;
  readonly at: Date;
}

/** Between whom SAML is spoken: data alone, which can be sent to another thread. */
export interface SamlExchange {
  readonly configuration: SamlConfiguration;
  readonly idp: SamlIdp;
  /** Where answers are posted to. */
  readonly callback: string;
  /** What an answer has to be for; null for an answer that nobody asked for. */
  readonly asked?: AskedRequest | null;
}

/**
 * The library for one exchange: assertions have to be signed, and meant for this service.
 *
 * @param remember Told the id of a request that is made.
 * @throws SsoFailure `misconfigured`.
 */
export async function samlClient(
  { configuration, idp, callback, asked }: SamlExchange,
  remember?: (id: string) => void,
): Promise<SAML> {
  const { SAML, ValidateInResponseTo } = await import('@node-saml/node-saml');
  const { entityId, certificate, privateKey, security } = configuration;
  if (security.authnRequestsSigned === true && privateKey === '') {
    throw new SsoFailure('misconfigured', 'requests are to be signed, and there is no SP_PRIVATE_KEY');
  }
  const contexts = security.requestedAuthnContext;
  return new SAML({
    issuer: entityId,
    audience: entityId,
    callbackUrl: callback,
    entryPoint: idp.url,
    idpCert: typeof idp.x509cert === 'string' ? idp.x509cert : [...idp.x509cert],
    identifierFormat: null,
    acceptedClockSkewMs: CLOCK_TOLERANCE * 1000,
    wantAssertionsSigned: true,
    wantAuthnResponseSigned: false,
    signatureAlgorithm: 'sha256',
    digestAlgorithm: 'sha256',
    disableRequestedAuthnContext: contexts === undefined || contexts === false,
    ...(Array.isArray(contexts) && { authnContext: contexts }),
    ...(security.authnRequestsSigned === true && { privateKey, publicCert: certificate }),
    ...(privateKey !== '' && { decryptionPvk: privateKey }),
    requestIdExpirationPeriodMs: LOGIN_LIFETIME_MS,
    validateInResponseTo: asked === null ? ValidateInResponseTo.never : ValidateInResponseTo.always,
    // The login in the database knows which request was made; it was taken from there for this one answer.
    cacheProvider: {
      saveAsync: (key, value) => {
        remember?.(key);
        return Promise.resolve({ value, createdAt: Date.now() });
      },
      getAsync: (key) => Promise.resolve(key === asked?.id ? asked.at.toISOString() : null),
      removeAsync: (key) => Promise.resolve(key),
    },
  });
}

/** Begins a login with SAML: a request by the redirect binding, signed where that is configured. */
export async function beginSaml(
  configuration: SamlConfiguration,
  { redirectUri, state, idp: name }: Beginning & { readonly idp: string },
): Promise<Departure> {
  const exchange = { configuration, idp: idpOf(configuration, name), callback: redirectUri };
  let requestId = '';
  const saml = await samlClient(exchange, (id) => (requestId = id));
  const url = await saml.getAuthorizeUrlAsync(state, undefined, {}).catch((error: unknown) => {
    const why = error instanceof Error ? error.message.slice(0, 300) : 'an unknown error';
    throw new SsoFailure('misconfigured', `no request could be made: ${why}`);
  });
  return { url, details: { idp: name, requestId } };
}

/** The identity provider of this name. Throws `not_configured` where there is none. */
export function idpOf({ idps }: SamlConfiguration, name: string): SamlIdp {
  const idp = Object.hasOwn(idps, name) ? idps[name] : undefined;
  if (idp === undefined) throw new SsoFailure('not_configured', 'there is no identity provider of this name');
  return idp;
}

/**
 * The metadata of this service (SAML 2.0 Metadata): where answers are posted to, that assertions have to be
 * signed, and the certificate for signed requests and encrypted assertions.
 *
 * @throws SsoFailure `misconfigured` for a key without a certificate.
 */
export async function samlMetadata(configuration: SamlConfiguration, callbackUrl: string): Promise<string> {
  const { generateServiceProviderMetadata } = await import('@node-saml/node-saml');
  const { entityId, certificate, privateKey, security } = configuration;
  if (privateKey !== '' && certificate === '') {
    throw new SsoFailure('misconfigured', 'there is an SP_PRIVATE_KEY, but no SP_PUBLIC_CERT to go with it');
  }
  return generateServiceProviderMetadata({
    issuer: entityId,
    callbackUrl,
    identifierFormat: null,
    wantAssertionsSigned: true,
    ...(privateKey !== '' && { decryptionPvk: privateKey, decryptionCert: certificate }),
    ...(security.authnRequestsSigned === true && { privateKey, publicCerts: certificate }),
  });
}
