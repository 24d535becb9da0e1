import { sign, verify } from 'node:crypto';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { startOpenIdProvider } from '@tokenctl/testing/sso/openid-provider.ts';
import type { KeyPair, SamlIdentityProvider } from '@tokenctl/testing/sso/saml-identity-provider.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunningService } from '../../src/server.ts';
import { ADMIN, Client } from '../support/service.ts';
import { Browser, type Stop } from '../support/sso/browser.ts';
import { logInThrough, set, whoIs } from '../support/sso/world.ts';
import { idpFor, idpSettings, logInWithSaml, samlKeys, startSamlService } from './saml-world.ts';

const keys = samlKeys();
const SLO = 'https://idp.example.org/saml/slo?tenant=7';
const SHA256 = 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256';

/** The query of a message with the redirect binding, signed unless `key` is null. */
function queryOf(
  kind: 'SAMLRequest' | 'SAMLResponse',
  xml: string,
  { key = keys.idp, algorithm = SHA256 }: { key?: KeyPair | null; algorithm?: string } = {},
): string {
  const message = `${kind}=${encodeURIComponent(deflateRawSync(xml).toString('base64'))}&RelayState=a%20b`;
  if (key === null) return message;
  const signed = `${message}&SigAlg=${encodeURIComponent(algorithm)}`;
  const hash = algorithm.endsWith('sha1') ? 'sha1' : 'sha256';
  const signature = sign(hash, Buffer.from(signed), key.key).toString('base64');
  return `${signed}&Signature=${encodeURIComponent(signature)}`;
}

describe('a logout', () => {
  let service: RunningService;
  let idp: SamlIdentityProvider;
  const logIn = async (nameId: string) => (await logInWithSaml(service, { idp, nameId })).browser;
  const logOut = (browser: Browser) =>
    browser.send(`${service.url}/api/logout/`, {
      csrfmiddlewaretoken: browser.cookies.get('csrftoken') ?? '',
    });
  const receive = (query: string) =>
    new Browser().open(`${service.url}/sso/logout/saml/?${query}`, (url) => url.startsWith('https://idp.'));
  const requestXml = (nameId: string, parts: Readonly<Record<string, string>> = {}) => {
    const { issuer = 'https://idp.example.org/saml', destination = `${service.url}/sso/logout/saml/` } =
      parts;
    const { issued = new Date().toISOString(), more = '' } = parts;
    return `<p:LogoutRequest xmlns:p="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:a="urn:oasis:names:tc:SAML:2.0:assertion" ID="_q" Version="2.0" IssueInstant="${issued}" Destination="${destination}"><a:Issuer>${issuer}</a:Issuer><a:NameID>${nameId}</a:NameID>${more}</p:LogoutRequest>`;
  };
  const responseXml = (status: string) =>
    `<p:LogoutResponse xmlns:p="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:a="urn:oasis:names:tc:SAML:2.0:assertion" ID="_r" Version="2.0"><a:Issuer>https://idp.example.org/saml</a:Issuer><p:Status><p:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:${status}"/></p:Status></p:LogoutResponse>`;

  beforeAll(async () => {
    service = await startSamlService({ keys });
    await set(service, 'saml', {
      SOCIAL_AUTH_SAML_ENABLED_IDPS: { corporate: idpSettings(keys, { label: 'Corp', logout_url: SLO }) },
    });
    idp = await idpFor(service, keys);
  });
  afterAll(() => service.close());

  it('of a local user leads to /api/, as on the controller', async () => {
    const local = new Client(service.url);
    await local.logIn(ADMIN.username, ADMIN.password);
    const answer = await local.get('/api/logout/');
    expect([answer.status, answer.headers['location']]).toEqual([302, '/api/']);
  });

  it('says that the session at the SAML provider goes on, and offers to end it with a signed request', async () => {
    const browser = await logIn('lin');
    const page = await logOut(browser);
    expect([page.status, await whoIs(service, browser)]).toEqual([200, null]);
    expect(page.text).toContain('Your session at Corp continues');
    const [, link = ''] = /href="(https:[^"]+)">Log out at Corp too</.exec(page.text) ?? [];
    const url = new URL(link.replaceAll('&amp;', '&'));
    expect(url.href.startsWith(SLO)).toBe(true);
    const xml = inflateRawSync(Buffer.from(url.searchParams.get('SAMLRequest') ?? '', 'base64')).toString();
    expect(xml).toMatch(/<saml:NameID Format="[^"]+:persistent">lin</);
    expect(xml).toMatch(/SessionIndex [^>]*>_[0-9a-f-]+</);
    const signed = ['SAMLRequest', 'SigAlg']
      .map((name) => `${name}=${encodeURIComponent(url.searchParams.get(name) ?? '')}`)
      .join('&');
    const signature = Buffer.from(url.searchParams.get('Signature') ?? '', 'base64');
    expect(verify('sha256', Buffer.from(signed), keys.service.certificate, signature)).toBe(true);
  });

  it('says whether the SAML provider confirmed it', async () => {
    expect((await receive(queryOf('SAMLResponse', responseXml('Success')))).text).toContain('Corp confirmed');
    for (const query of [
      queryOf('SAMLResponse', responseXml('Success'), { key: null }),
      queryOf('SAMLResponse', responseXml('Responder')),
    ]) {
      expect((await receive(query)).text).toContain('Corp did not confirm');
    }
    const forged = await receive(queryOf('SAMLResponse', responseXml('Success'), { key: keys.other }));
    expect(new URL(forged.url).searchParams.get('reason')).toBe('unverified');
  });

  it('that the SAML provider asks for ends the sessions of that user, and is answered', async () => {
    const [lin, linToo, eve] = [await logIn('lin'), await logIn('lin'), await logIn('eve')];
    const stop = await receive(queryOf('SAMLRequest', requestXml('lin')));
    const url = new URL(stop.location ?? '');
    expect([url.href.startsWith(SLO), url.searchParams.get('RelayState')]).toEqual([true, 'a b']);
    const xml = inflateRawSync(Buffer.from(url.searchParams.get('SAMLResponse') ?? '', 'base64')).toString();
    expect(xml).toMatch(/InResponseTo="_q"[\s\S]*status:Success/);
    const living = await Promise.all([lin, linToo, eve].map((browser) => whoIs(service, browser)));
    expect(living.map((user) => user !== null)).toEqual([false, false, true]);
  });

  it('of one session of several leaves the others', async () => {
    const [lin, other] = [await logIn('lin'), await logIn('lin')];
    const [row] = await service.database.query<{ index: string }>(
      `SELECT details->>'sessionIndex' AS index FROM service_provider_session p
       JOIN main_usersessionmembership m ON m.session_id = p.session_key
       WHERE details->>'nameId' = 'lin' ORDER BY m.id LIMIT 1`,
    );
    const more = `<p:SessionIndex>${row?.index}</p:SessionIndex>`;
    await receive(queryOf('SAMLRequest', requestXml('lin', { more })));
    expect([await whoIs(service, lin), (await whoIs(service, other)) !== null]).toEqual([null, true]);
  });

  it('is refused without the signature of the provider, and for another place or time', async () => {
    const browser = await logIn('lin');
    const good = requestXml('lin');
    const signed = queryOf('SAMLRequest', good);
    const evil = queryOf('SAMLRequest', good, { key: null });
    const refused: Record<string, string> = {
      unsigned: evil,
      'signed by another': queryOf('SAMLRequest', good, { key: keys.other }),
      'SHA-1': queryOf('SAMLRequest', good, { algorithm: 'http://www.w3.org/2000/09/xmldsig#rsa-sha1' }),
      'another issuer': queryOf('SAMLRequest', requestXml('lin', { issuer: 'https://other.example.org' })),
      'a different destination': queryOf(
        'SAMLRequest',
        requestXml('lin', { destination: 'https://other.example.org' }),
      ),
      old: queryOf('SAMLRequest', requestXml('lin', { issued: '2001-01-01T00:00:00Z' })),
      future: queryOf('SAMLRequest', requestXml('lin', { issued: '2999-01-01T00:00:00Z' })),
      'no date': queryOf('SAMLRequest', requestXml('lin', { issued: 'x' })),
      'no name': queryOf('SAMLRequest', requestXml(' ')),
      'a response in its place': queryOf('SAMLRequest', responseXml('Success')),
      'a signed value beside another': `${evil.replace('SAMLRequest', 'SAML%52equest')}&${signed}`,
      twice: `${evil}&${signed}`,
      both: `SAMLResponse=x&${signed}`,
      'a huge message': queryOf('SAMLRequest', requestXml('lin', { more: ' '.repeat(100_000) })),
      'a document type': queryOf('SAMLRequest', `<!DOCTYPE x>${good}`),
      'not base64': 'SAMLRequest=%ff%&Signature=x&SigAlg=y',
      nothing: '',
    };
    const reasons: Record<string, string | null> = {};
    for (const [name, query] of Object.entries(refused)) {
      const stop: Stop = await receive(query);
      reasons[name] = new URL(stop.url).searchParams.get('reason');
    }
    expect(reasons).toEqual(Object.fromEntries(Object.keys(refused).map((name) => [name, 'unverified'])));
    expect(await whoIs(service, browser)).not.toBeNull();
  });

  it('offers the logout of an OpenID provider that has one', async () => {
    const provider = await startOpenIdProvider({
      clients: [
        {
          clientId: 'c',
          clientSecret: 's'.repeat(32),
          redirectUris: [`${service.url}/sso/complete/google-oauth2/`],
        },
      ],
      accounts: { root: { preferred_username: 'root' } },
    });
    await set(service, 'google-oauth2', {
      SOCIAL_AUTH_GOOGLE_OAUTH2_KEY: 'c',
      SOCIAL_AUTH_GOOGLE_OAUTH2_SECRET: 's'.repeat(32),
      SOCIAL_AUTH_GOOGLE_OAUTH2_ISSUER: provider.url,
      SOCIAL_AUTH_GOOGLE_OAUTH2_LABEL: 'Ours',
    });
    const { browser } = await logInThrough(service, { backend: 'google-oauth2', account: 'root' });
    const page = await logOut(browser);
    expect(page.text).toContain('Your session at Ours continues');
    expect(page.text).toContain(`href="${provider.url}/session/end?client_id=c"`);
    await provider.close();
  });
});
