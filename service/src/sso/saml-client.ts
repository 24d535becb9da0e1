import type { SAML } from '@node-saml/node-saml';
import type { SamlIdp } from '../settings/sso-schemas.ts';
import { CLOCK_TOLERANCE_S, SsoFailure } from './backends.ts';
import type { SamlConfiguration } from './configuration.ts';
import type { LoginRequest, ProviderRedirect } from './openid.ts';

/** How long a login at an identity provider may take, in milliseconds. */
export const LOGIN_LIFETIME_MS = 600_000;

export interface SentRequest {
  readonly id: string;
  readonly at: Date;
}

/** The two sides of a SAML exchange, as data for another thread. */
export interface SamlExchange {
  readonly configuration: SamlConfiguration;
  readonly idp: SamlIdp;
  /** The assertion consumer service, to which responses are posted. */
  readonly callback: string;
  /** The request that a response must refer to; null if the identity provider started the login. */
  readonly sentRequest?: SentRequest | null;
}

/**
 * Configures the library for one exchange: assertions must be signed, and this service must be their
 * audience.
 * @param remember Called with the id of each request that the library creates.
 * @throws SsoFailure `misconfigured`.
 */
export async function samlClient(
  { configuration, idp, callback, sentRequest }: SamlExchange,
  remember?: (id: string) => void,
): Promise<SAML> {
  const { SAML, ValidateInResponseTo } = await import('@node-saml/node-saml');
  const { entityId, certificate, privateKey, security } = configuration;
  if (security.authnRequestsSigned === true && privateKey === '') {
    throw new SsoFailure('misconfigured', 'authnRequestsSigned is on, but SP_PRIVATE_KEY is missing');
  }
  const contexts = security.requestedAuthnContext;
  return new SAML({
    issuer: entityId,
    audience: entityId,
    callbackUrl: callback,
    entryPoint: idp.url,
    ...(idp.logout_url !== undefined && { logoutUrl: idp.logout_url }),
    idpCert: typeof idp.x509cert === 'string' ? idp.x509cert : [...idp.x509cert],
    identifierFormat: nameIdFormat(idp),
    acceptedClockSkewMs: CLOCK_TOLERANCE_S * 1000,
    wantAssertionsSigned: true,
    wantAuthnResponseSigned: false,
    signatureAlgorithm: 'sha256',
    digestAlgorithm: 'sha256',
    disableRequestedAuthnContext: contexts === undefined || contexts === false,
    ...(Array.isArray(contexts) && { authnContext: contexts }),
    ...(security.authnRequestsSigned === true && { privateKey, publicCert: certificate }),
    ...(privateKey !== '' && { decryptionPvk: privateKey }),
    requestIdExpirationPeriodMs: LOGIN_LIFETIME_MS,
    validateInResponseTo: sentRequest === null ? ValidateInResponseTo.never : ValidateInResponseTo.always,
    // The library's request cache, reduced to the one request of the pending login from the database.
    cacheProvider: {
      saveAsync: (key, value) => {
        remember?.(key);
        return Promise.resolve({ value, createdAt: Date.now() });
      },
      getAsync: (key) => Promise.resolve(key === sentRequest?.id ? sentRequest.at.toISOString() : null),
      removeAsync: (key) => Promise.resolve(key),
    },
  });
}

const FORMATS = {
  persistent: 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
  email: 'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress',
  none: null,
} as const;

/** The NameID format to request: persistent by default, since users are identified by it. Null for any. */
export function nameIdFormat({ name_id_format, attr_user_permanent_id: attribute }: SamlIdp): string | null {
  const isNameId = attribute === undefined || attribute === 'name_id';
  return FORMATS[name_id_format ?? (isNameId ? 'persistent' : 'none')];
}

/** Starts a login with SAML and the redirect binding. Throws SsoFailure `not_configured`, `misconfigured`. */
export async function beginSaml(
  configuration: SamlConfiguration,
  { redirectUri, state, idp: name }: LoginRequest & { idp: string },
): Promise<ProviderRedirect> {
  const exchange = { configuration, idp: idpOf(configuration, name), callback: redirectUri };
  let requestId = '';
  const saml = await samlClient(exchange, (id) => (requestId = id));
  const url = await saml.getAuthorizeUrlAsync(state, undefined, {}).catch((error: unknown) => {
    const why = error instanceof Error ? error.message.slice(0, 300) : 'unknown error';
    throw new SsoFailure('misconfigured', `cannot create the request: ${why}`);
  });
  return { url, details: { idp: name, requestId } };
}

/** The identity provider with this name. Throws SsoFailure `not_configured` if it does not exist. */
export function idpOf({ idps }: SamlConfiguration, name: string): SamlIdp {
  const idp = Object.hasOwn(idps, name) ? idps[name] : undefined;
  if (idp === undefined) throw new SsoFailure('not_configured', 'no identity provider has this name');
  return idp;
}

/**
 * This service's metadata in XML (SAML 2.0 Metadata): its assertion consumer and single logout services, that
 * assertions must be signed, and the certificate for signed requests and encrypted assertions.
 * @throws SsoFailure `misconfigured` for a key without a certificate.
 */
export async function samlMetadata(
  configuration: SamlConfiguration,
  { callbackUrl, logoutUrl }: { callbackUrl: string; logoutUrl: string },
): Promise<string> {
  const { generateServiceProviderMetadata } = await import('@node-saml/node-saml');
  const { entityId, certificate, privateKey, security, idps } = configuration;
  if (privateKey !== '' && certificate === '') {
    throw new SsoFailure('misconfigured', 'SP_PRIVATE_KEY is set, but SP_PUBLIC_CERT is missing');
  }
  const [format = FORMATS.persistent] = Object.values(idps).map(nameIdFormat);
  const metadata = generateServiceProviderMetadata({
    issuer: entityId,
    callbackUrl,
    logoutCallbackUrl: logoutUrl,
    // One for all identity providers; the requests specify it for each.
    identifierFormat: format,
    wantAssertionsSigned: true,
    ...(privateKey !== '' && { decryptionPvk: privateKey, decryptionCert: certificate }),
    ...(security.authnRequestsSigned === true && { privateKey, publicCerts: certificate }),
  });
  // The library supports the single logout only with the POST binding.
  return metadata.replace(/(<SingleLogoutService Binding="[^"]+:)HTTP-POST"/, '$1HTTP-Redirect"');
}
