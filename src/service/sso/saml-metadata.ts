import { SsoFailure } from './backends.ts';
import type { SamlConfiguration } from './configuration.ts';

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
