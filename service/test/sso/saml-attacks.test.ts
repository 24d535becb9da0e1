import {
  type AssertionParts,
  type SamlIdentityProvider,
  signAgain,
} from '@tokenctl/testing/sso/saml-identity-provider.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunningService } from '../../src/server.ts';
import { Browser } from '../support/sso/browser.ts';
import { expectRefused, set, whoIs } from '../support/sso/world.ts';
import { beginSamlLogin, idpFor, logInWithSaml, post, samlKeys, startSamlService } from './saml-world.ts';

const keys = samlKeys();
const SIGNATURE = /<ds:Signature[\s>].*<\/ds:Signature>/s;
const ASSERTION = /<saml:Assertion .*<\/saml:Assertion>/s;

/** The one match of an expression in a message: a test must not pass because it changed nothing. */
function part(xml: string, expression: RegExp): string {
  const [found] = expression.exec(xml) ?? [];
  if (found === undefined) throw new Error('the message is not made as the test believes');
  return found;
}

/** An assertion for the victim, with another id and without a signature. */
function forgedFrom(xml: string): string {
  return part(xml, ASSERTION)
    .replace(SIGNATURE, '')
    .replace(/ID="_[^"]+"/, 'ID="_forged"')
    .replace('mallory', 'victim');
}

describe('attacks on SAML', () => {
  let service: RunningService;
  let idp: SamlIdentityProvider;
  const logIn = (more: Partial<Parameters<typeof logInWithSaml>[1]>) =>
    logInWithSaml(service, { idp, nameId: 'mallory', ...more });

  beforeAll(async () => {
    service = await startSamlService({ keys });
    idp = await idpFor(service, keys);
  });
  afterAll(() => service.close());

  it('do not concern an honest answer', async () => {
    const { browser } = await logIn({});
    expect(await whoIs(service, browser)).toMatchObject({ auth: [{ uid: 'corporate:mallory' }] });
  });

  it.each<readonly [string, (parts: AssertionParts) => Partial<AssertionParts>]>([
    ['for another audience', () => ({ audience: 'https://other.example.org' })],
    ['for another recipient', () => ({ recipient: 'https://other.example.org/sso/complete/saml/' })],
    ['of another issuer', () => ({ issuer: 'https://other.example.org' })],
    ['for another request', () => ({ inResponseTo: '_other' })],
    ['for no request', () => ({ inResponseTo: null })],
    ['that has expired', () => ({ notOnOrAfter: new Date(Date.now() - 90_000) })],
    ['that is not valid yet', () => ({ notBefore: new Date(Date.now() + 90_000) })],
    ['that names nobody', () => ({ nameId: '' })],
    [
      'in an envelope to another service',
      () => ({ envelope: { destination: 'https://other.example.org/' } }),
    ],
    ['in an envelope of another issuer', () => ({ envelope: { issuer: 'https://other.example.org' } })],
    ['in an envelope without a status', () => ({ envelope: { status: null } })],
    ['of a session that has ended', () => ({ sessionNotOnOrAfter: new Date(Date.now() - 90_000) })],
  ])('fail: an assertion %s', async (_name, change) => {
    const parts = idp.parts({ id: null, callback: '' }, 'mallory');
    await expectRefused(service, await logIn({ change: change(parts) }), 'unverified');
  });

  it('fail: an assertion in an envelope that says that the login failed', async () => {
    const change = { envelope: { status: 'Responder' } };
    await expectRefused(service, await logIn({ change }), 'refused_by_provider');
  });

  it('are not seen in an envelope without a destination and an issuer, which may be left out', async () => {
    const { stop } = await logIn({ change: { envelope: { destination: null, issuer: null } } });
    expect(stop.url).toBe(`${service.url}/accounts/profile/`);
  });

  it.each([false, true])(
    'fail: a signature with SHA-1, unless a setting accepts it (encrypted: %s)',
    async (encrypts) => {
      const old = await idpFor(service, keys, { sha1: true, encrypts });
      await expectRefused(service, await logIn({ idp: old }), 'unverified');
      await set(service, 'saml', { SOCIAL_AUTH_SAML_SECURITY_CONFIG: { rejectDeprecatedAlgorithm: false } });
      const { stop } = await logIn({ idp: old });
      expect(stop.url).toBe(`${service.url}/accounts/profile/`);
      await set(service, 'saml', { SOCIAL_AUTH_SAML_SECURITY_CONFIG: {} });
    },
  );

  it('bear a clock that is half a minute off', async () => {
    const { stop } = await logIn({ change: { notBefore: new Date(Date.now() + 30_000) } });
    expect(stop.url).toBe(`${service.url}/accounts/profile/`);
  });

  it.each<readonly [string, (xml: string) => string]>([
    ['no signature', (xml) => xml.replace(part(xml, SIGNATURE), '')],
    ['two signatures', (xml) => signAgain(xml, keys.idp)],
    ['a signature that was copied', (xml) => xml.replace(SIGNATURE, (signature) => signature + signature)],
    ['another name than was signed', (xml) => xml.replace('>mallory<', '>victim<')],
    [
      'a signature that covers nothing',
      (xml) => xml.replace(/<ds:Reference URI="[^"]+"/, '<ds:Reference URI=""'),
    ],
    [
      'a digest that is commented',
      (xml) => xml.replace(/(<ds:DigestValue>)/, '$1<!--x-->AAAA').replace('>mallory<', '>victim<'),
    ],
    [
      'the signature of a key in the message',
      (xml) => signAgain(xml.replace(part(xml, SIGNATURE), ''), keys.other),
    ],
    ['a document type', (xml) => `<!DOCTYPE x [<!ENTITY v "victim">]>${xml.replace('>mallory<', '>&v;<')}`],
    [
      'two assertions, the forged one first',
      (xml) => xml.replace(ASSERTION, (signed) => forgedFrom(xml) + signed),
    ],
    [
      'two assertions, the forged one last',
      (xml) => xml.replace(ASSERTION, (signed) => signed + forgedFrom(xml)),
    ],
    [
      'the signed assertion wrapped in an extension, beside a forged one',
      (xml) =>
        xml.replace(
          ASSERTION,
          (signed) => `<samlp:Extensions>${signed}</samlp:Extensions>${forgedFrom(xml)}`,
        ),
    ],
    [
      'the signed assertion inside the forged one',
      (xml) =>
        xml.replace(ASSERTION, (signed) =>
          forgedFrom(xml).replace('</saml:Assertion>', `${signed}</saml:Assertion>`),
        ),
    ],
    [
      'the signature in the forged assertion, and the signed one inside it',
      (xml) =>
        xml.replace(ASSERTION, (signed) => {
          const object = `<ds:Object>${signed.replace(SIGNATURE, '')}</ds:Object></ds:Signature>`;
          const signature = part(signed, SIGNATURE).replace('</ds:Signature>', object);
          return forgedFrom(xml).replace('</saml:Issuer>', `</saml:Issuer>${signature}`);
        }),
    ],
    [
      'a forged assertion with the id of the signed one',
      (xml) =>
        xml.replace(ASSERTION, (signed) => {
          const id = part(signed, /ID="_[^"]+"/);
          const forged = forgedFrom(xml).replace('ID="_forged"', id);
          return forged.replace('</saml:Issuer>', `</saml:Issuer>${part(signed, SIGNATURE)}`);
        }),
    ],
  ])('fail: an answer with %s', async (_name, tamper) => {
    await expectRefused(service, await logIn({ tamper }), 'unverified');
  });

  it('fail: a comment in the NameID does not cut it short', async () => {
    const { browser } = await logIn({
      nameId: 'victim@example.org.evil.example',
      tamper: (xml) => xml.replace('victim@example.org.', 'victim@example.org<!---->.'),
    });
    const user = await whoIs(service, browser);
    expect(user?.['auth']).toEqual([{ provider: 'saml', uid: 'corporate:victim@example.org.evil.example' }]);
  });

  it('fail: an assertion that comes twice, also in the login of another browser', async () => {
    const { browser, request } = await beginSamlLogin(service, { idp });
    const response = await idp.answer(idp.parts(request, 'mallory'));
    const { relayState } = request;
    const thief = new Browser();
    await expectRefused(
      service,
      { browser: thief, stop: await post(service, { browser: thief, response, relayState }) },
      'no_such_login',
    );
    expect((await post(service, { browser, response, relayState })).status).toBe(200);
    const again = new Browser();
    again.cookies.set('sso_login', browser.cookies.get('sso_login') ?? '');
    await expectRefused(
      service,
      { browser: again, stop: await post(service, { browser: again, response, relayState }) },
      'no_such_login',
    );
    const other = await beginSamlLogin(service, { idp });
    const stop = await post(service, {
      browser: other.browser,
      response,
      relayState: other.request.relayState,
    });
    await expectRefused(service, { browser: other.browser, stop }, 'unverified');
  });

  it('fail: an answer that is carried into another browser, to log it in as someone else', async () => {
    const attacker = await beginSamlLogin(service, { idp });
    const victim = await beginSamlLogin(service, { idp });
    const response = await idp.answer(idp.parts(attacker.request, 'mallory'));
    const stop = await post(service, {
      browser: victim.browser,
      response,
      relayState: attacker.request.relayState,
    });
    await expectRefused(service, { browser: victim.browser, stop }, 'no_such_login');
  });

  it.each(['', 'not base64 at all', '<', Buffer.from('<a/>').toString('base64'), 'A'.repeat(100_000)])(
    'fail: rubbish (%#)',
    async (response) => {
      const { browser, request } = await beginSamlLogin(service, { idp });
      const stop = await post(service, { browser, response, relayState: request.relayState });
      await expectRefused(service, { browser, stop }, response === '' ? 'no_such_login' : 'unverified');
    },
  );

  it('are told to the user where the identity provider itself refuses', async () => {
    const { browser, request } = await beginSamlLogin(service, { idp });
    const xml = `<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" ID="_1" Version="2.0" InResponseTo="${request.id}"><samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Responder"/></samlp:Status></samlp:Response>`;
    const response = Buffer.from(xml).toString('base64');
    const stop = await post(service, { browser, response, relayState: request.relayState });
    await expectRefused(service, { browser, stop }, 'refused_by_provider');
  });
});
