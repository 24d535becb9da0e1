import { constants, createCipheriv, publicEncrypt, randomBytes } from 'node:crypto';
import type { SamlIdentityProvider } from '@tokenctl/testing/sso/saml-identity-provider.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunningService } from '../../src/server.ts';
import { expectRefused } from '../support/sso/world.ts';
import { beginSamlLogin, idpFor, logInWithSaml, post, samlKeys, startSamlService } from './saml-world.ts';

const keys = samlKeys();
const ENCRYPTION = 'http://www.w3.org/2001/04/xmlenc#';
const SIGNATURE = `<ds:Signature xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><ds:SignedInfo>
<ds:CanonicalizationMethod Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"/>
<ds:SignatureMethod Algorithm="http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"/>
<ds:Reference URI="#a"><ds:Transforms>
<ds:Transform Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"/></ds:Transforms>
<ds:DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"/><ds:DigestValue>AAAA</ds:DigestValue>
</ds:Reference></ds:SignedInfo><ds:SignatureValue>AAAA</ds:SignatureValue></ds:Signature>`;

const STATUS =
  '<samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"/></samlp:Status>';

/** An assertion of many elements, which take the library time by the square of their number. */
function monster(elements: number): string {
  return `<saml:Assertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="a">${SIGNATURE}${'<b/>'.repeat(elements)}</saml:Assertion>`;
}

/** Anybody can encrypt for the service: its certificate is part of the metadata (XML Encryption 1.1). */
function encrypted(xml: string): string {
  const [key, iv] = [randomBytes(32), randomBytes(12)];
  const cipher = createCipheriv('aes-256-gcm', key, iv);
  const content = Buffer.concat([iv, cipher.update(xml), cipher.final(), cipher.getAuthTag()]);
  const transported = publicEncrypt(
    { key: keys.service.certificate, padding: constants.RSA_PKCS1_OAEP_PADDING },
    key,
  );
  return `<saml:EncryptedAssertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"><e:EncryptedData xmlns:e="${ENCRYPTION}" Type="${ENCRYPTION}Element"><e:EncryptionMethod Algorithm="http://www.w3.org/2009/xmlenc11#aes256-gcm"/><KeyInfo xmlns="http://www.w3.org/2000/09/xmldsig#"><e:EncryptedKey><e:EncryptionMethod Algorithm="${ENCRYPTION}rsa-oaep-mgf1p"/><e:CipherData><e:CipherValue>${transported.toString('base64')}</e:CipherValue></e:CipherData></e:EncryptedKey></KeyInfo><e:CipherData><e:CipherValue>${content.toString('base64')}</e:CipherValue></e:CipherData></e:EncryptedData></saml:EncryptedAssertion>`;
}

describe('answers that are made to keep the service busy', () => {
  let service: RunningService;
  let idp: SamlIdentityProvider;

  async function send(assertion: string) {
    const { browser, request } = await beginSamlLogin(service, { idp });
    const xml = `<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" ID="r" InResponseTo="${request.id}">${STATUS}${assertion}</samlp:Response>`;
    const response = Buffer.from(xml).toString('base64');
    return { browser, stop: await post(service, { browser, response, relayState: request.relayState }) };
  }

  beforeAll(async () => {
    service = await startSamlService({ keys });
    idp = await idpFor(service, keys);
  });
  afterAll(() => service.close());

  it('are refused before they are read, where that can be seen', async () => {
    await expectRefused(service, await send(monster(40_000)), 'unverified');
    await expectRefused(service, await send(monster(10).padEnd(300_000, ' ')), 'unverified');
  });

  it('hold up no other request, and no other login for long', async () => {
    const sent = send(encrypted(monster(32_000)));
    let done = false;
    void sent.finally(() => (done = true));
    let answeredMeanwhile = 0;
    while (!done) {
      await (await fetch(`${service.url}/api/v2/ping/`)).text();
      answeredMeanwhile += 1;
    }
    // In the same thread, all but the first would wait until it is refused.
    expect(answeredMeanwhile).toBeGreaterThan(10);
    await expectRefused(service, await sent, 'unverified');
    const honest = await logInWithSaml(service, { idp, nameId: 'lin' });
    expect(honest.stop.url).toBe(`${service.url}/accounts/profile/`);
  });
});
