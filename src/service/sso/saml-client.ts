import type { SAML } from '@node-saml/node-saml';
import type { SamlIdp } from '../settings/sso-schemas.ts';
import { SsoFailure } from './backends.ts';
import type { SamlConfiguration } from './configuration.ts';
import { CLOCK_TOLERANCE } from './discoveries.ts';

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
