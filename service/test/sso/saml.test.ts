import { inflateRawSync } from 'node:zlib';
import type { KeyPair, SamlIdentityProvider } from '@tokenctl/testing/sso/saml-identity-provider.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunningService } from '../../src/server.ts';
import { Client } from '../support/service.ts';
import { Browser } from '../support/sso/browser.ts';
import { adminOf, expectRefused, set, whoIs } from '../support/sso/world.ts';
import {
  beginSamlLogin,
  idpFor,
  idpSettings,
  logInWithSaml,
  post,
  samlKeys,
  startSamlService,
} from './saml-world.ts';

const keys = samlKeys();

describe('SAML', () => {
  const clock = { ahead: 0, now: () => new Date(Date.now() + clock.ahead) };
  let service: RunningService;
  let idp: SamlIdentityProvider;
  const logIn = (nameId: string, more: Partial<Parameters<typeof logInWithSaml>[1]> = {}) =>
    logInWithSaml(service, { idp, nameId, ...more });
  const idps = (settings: Readonly<Record<string, unknown>>) =>
    set(service, 'saml', { SOCIAL_AUTH_SAML_ENABLED_IDPS: settings });

  beforeAll(async () => {
    service = await startSamlService({ keys, options: { now: () => clock.now() } });
    idp = await idpFor(service, keys);
  });
  afterAll(() => service.close());

  it('makes a user on the first login, and finds it on the second', async () => {
    const attributes = { mail: ['Lin@Example.org'], givenName: ['Lin'], sn: ['Tu'], uid: ['lin'] };
    const { browser, stop } = await logIn('lin-4711', { change: { attributes } });
    expect(stop.url).toBe(`${service.url}/accounts/profile/`);
    const user = await whoIs(service, browser);
    expect(user).toMatchObject({
      username: 'lin',
      email: 'lin@example.org',
      first_name: 'Lin',
      last_name: 'Tu',
      external_account: 'enterprise',
      auth: [{ provider: 'saml', uid: 'corporate:lin-4711' }],
    });
    const again = await logIn('lin-4711');
    expect((await whoIs(service, again.browser))?.id).toBe(user?.id);
    const rows = await service.database.query(
      'SELECT provider FROM sso_userenterpriseauth WHERE user_id = $1',
      [user?.id],
    );
    expect(rows).toEqual([{ provider: 'saml' }]);
  });

  it('takes encrypted assertions, but only with the key they are encrypted for', async () => {
    const encrypting = await idpFor(service, keys, { encrypts: true });
    const { browser } = await logIn('enc-1', { idp: encrypting });
    expect(await whoIs(service, browser)).toMatchObject({ auth: [{ uid: 'corporate:enc-1' }] });
    const pair = ({ certificate, key }: KeyPair) => ({
      SOCIAL_AUTH_SAML_SP_PUBLIC_CERT: certificate,
      SOCIAL_AUTH_SAML_SP_PRIVATE_KEY: key,
    });
    await set(service, 'saml', pair(keys.other));
    await expectRefused(service, await logIn('enc-1', { idp: encrypting }), 'unverified');
    await set(service, 'saml', pair(keys.service));
  });

  it('signs requests where that is configured, so that the identity provider can verify them', async () => {
    await set(service, 'saml', { SOCIAL_AUTH_SAML_SECURITY_CONFIG: { authnRequestsSigned: true } });
    const strict = await idpFor(service, keys);
    const { browser, request, url } = await beginSamlLogin(service, { idp: strict, signed: true });
    const response = await strict.answer(strict.parts(request, 'signed-1'));
    expect((await post(service, { browser, response, relayState: request.relayState })).status).toBe(200);
    const forged = url.replace(/RelayState=[^&]+/, 'RelayState=other');
    await expect(strict.read(forged, true)).rejects.toThrow();
    await set(service, 'saml', { SOCIAL_AUTH_SAML_SECURITY_CONFIG: {} });
  });

  it('serves metadata with what an identity provider needs', async () => {
    const answer = await new Client(service.url).get('/sso/metadata/saml/');
    expect(answer.headers['content-type']).toBe('application/xml; charset=utf-8');
    expect(answer.text).toContain('entityID="https://automation.example.org"');
    expect(answer.text).toContain(`Location="${service.url}/sso/complete/saml/"`);
    expect(answer.text).toContain('WantAssertionsSigned="true"');
    expect(answer.text).toContain('use="encryption"');
    expect(answer.text).not.toContain('PRIVATE');
  });

  it('asks for a NameID that stays, as the identity provider is configured', async () => {
    const asked = async () => {
      const { url } = await beginSamlLogin(service, { idp });
      const xml = inflateRawSync(Buffer.from(new URL(url).searchParams.get('SAMLRequest') ?? '', 'base64'));
      const format = / Format="urn:oasis:names:tc:SAML:([^"]+)"/.exec(xml.toString())?.[1] ?? null;
      const metadata = (await new Client(service.url).get('/sso/metadata/saml/')).text;
      return [format, /<NameIDFormat>urn:oasis:names:tc:SAML:([^<]+)</.exec(metadata)?.[1] ?? null];
    };
    const persistent = '2.0:nameid-format:persistent';
    const email = '1.1:nameid-format:emailAddress';
    expect(await asked()).toEqual([persistent, persistent]);
    for (const [more, format] of [
      [{ name_id_format: 'email' }, email],
      [{ name_id_format: 'none' }, null],
      [{ attr_user_permanent_id: 'employeeNumber' }, null],
    ] as const) {
      await idps({ corporate: idpSettings(keys, more) });
      expect(await asked()).toEqual([format, format]);
    }
    await idps({ corporate: idpSettings(keys) });
  });

  it('ends the session when the identity provider says, also a session in use', async () => {
    const { browser } = await logIn('short-1', {
      change: { sessionNotOnOrAfter: new Date(clock.now().getTime() + 90_000) },
    });
    clock.ahead += 60_000;
    expect(await whoIs(service, browser)).not.toBeNull();
    clock.ahead += 40_000;
    expect(await whoIs(service, browser)).toBeNull();
    const over = { sessionNotOnOrAfter: new Date(clock.now().getTime() - 1_000) };
    await expectRefused(service, await logIn('short-1', { change: over }), 'unverified');
    clock.ahead = 0;
  });

  it('tells several identity providers apart: each vouches for its own users only', async () => {
    const second = {
      ...idpSettings(keys),
      entity_id: 'https://second.example.org',
      x509cert: [keys.other.certificate],
      label: 'The <second> one',
    };
    await idps({ corporate: idpSettings(keys), second });
    const page = await new Client(service.url).get('/api/login/');
    for (const name of ['corporate', 'second']) expect(page.text).toContain(`/sso/login/saml/?idp=${name}`);
    expect(Object.keys((await new Client(service.url).get('/api/v2/auth/')).json)).toEqual([
      'saml:corporate',
      'saml:second',
    ]);
    const other = await idpFor(service, keys, { as: keys.other });
    const query = '?idp=second';
    const { browser } = await logIn('lin-4711', {
      idp: other,
      query,
      change: { issuer: 'https://second.example.org' },
    });
    expect(await whoIs(service, browser)).toMatchObject({ auth: [{ uid: 'second:lin-4711' }] });
    // The second one answers a request that went to the first.
    await expectRefused(
      service,
      await logIn('lin-4711', { idp: other, query: '?idp=corporate' }),
      'unverified',
    );
    // And in the name of the first.
    await expectRefused(service, await logIn('lin-4711', { idp: other, query }), 'unverified');
    const undecided = await new Browser().open(`${service.url}/sso/login/saml/?next=/api/v2/me/`);
    expect(undecided.url).toBe(`${service.url}/api/login/?next=%2Fapi%2Fv2%2Fme%2F`);
    expect(undecided.text).toContain('/sso/login/saml/?idp=second&amp;next=%2Fapi%2Fv2%2Fme%2F');
    expect(undecided.text).toMatch(/Log in with corporate[\s\S]*Log in with The &lt;second&gt; one/);
    const nobody = new Browser();
    const stop = await nobody.open(`${service.url}/sso/login/saml/?idp=third`);
    await expectRefused(service, { browser: nobody, stop }, 'not_configured');
    await idps({ corporate: idpSettings(keys) });
  });

  it('takes a login that the identity provider began only where that is allowed, once', async () => {
    const callback = `${service.url}/sso/complete/saml/`;
    const answer = async () => idp.answer(idp.parts({ id: null, callback }, 'portal-1'));
    const send = async (response: string, relayState: string) => {
      const browser = new Browser();
      return { browser, stop: await post(service, { browser, response, relayState }) };
    };
    await expectRefused(service, await send(await answer(), ''), 'no_such_login');
    await idps({ corporate: idpSettings(keys, { allow_idp_initiated: true }) });
    const response = await answer();
    const { browser, stop } = await send(response, '/api/v2/me/');
    expect(stop.url).toBe(`${service.url}/api/v2/me/`);
    expect(await whoIs(service, browser)).toMatchObject({ auth: [{ uid: 'corporate:portal-1' }] });
    await expectRefused(service, await send(response, ''), 'unverified');
    for (const relayState of ['https://evil.invalid/', '//evil.invalid', '/\\evil.invalid']) {
      expect((await send(await answer(), relayState)).stop.url).toBe(`${service.url}/accounts/profile/`);
    }
    // An answer to a request of another browser is not one that nobody asked for.
    const { request } = await beginSamlLogin(service, { idp });
    const stolen = await idp.answer(idp.parts(request, 'portal-1'));
    await expectRefused(service, await send(stolen, ''), 'unverified');
    await idps({ corporate: idpSettings(keys) });
  });

  it('names users by the permanent attribute, and refuses a NameID that changes each time', async () => {
    const transient = 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient';
    const change = { nameIdFormat: transient, attributes: { employeeNumber: ['0815'] } };
    await expectRefused(service, await logIn('_random-1', { change }), 'misconfigured');
    await idps({ corporate: idpSettings(keys, { attr_user_permanent_id: 'employeeNumber' }) });
    const { browser } = await logIn('_random-2', { change });
    expect(await whoIs(service, browser)).toMatchObject({ auth: [{ uid: 'corporate:0815' }] });
    await expectRefused(
      service,
      await logIn('_random-3', { change: { nameIdFormat: transient } }),
      'unverified',
    );
    await idps({ corporate: idpSettings(keys) });
  });

  it('makes no second user of a NameID in another format than was asked for', async () => {
    const email = 'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress';
    const change = { nameIdFormat: email };
    await expectRefused(service, await logIn('nell@example.org', { change }), 'misconfigured');
    await idps({ corporate: idpSettings(keys, { name_id_format: 'email' }) });
    const { user } = await logIn('nell@example.org', { change }).then(async ({ browser }) => ({
      user: await whoIs(service, browser),
    }));
    expect(user).toMatchObject({ auth: [{ uid: 'corporate:nell@example.org' }] });
    // Whoever is known by it goes on.
    await idps({ corporate: idpSettings(keys) });
    const { browser } = await logIn('nell@example.org', { change });
    expect(await whoIs(service, browser)).toMatchObject({ id: user?.['id'] });
  });

  it('sends a login on to a path of this service only', async () => {
    const inside = await logIn('lin-4711', { query: '?next=/api/v2/me/' });
    expect(inside.stop.url).toBe(`${service.url}/api/v2/me/`);
    const outside = await logIn('lin-4711', { query: '?next=https://evil.invalid/' });
    expect(outside.stop.url).toBe(`${service.url}/accounts/profile/`);
  });

  it('lets the cookie of a login come along from the page of the identity provider, over https only', async () => {
    const proxied = await startSamlService({ keys, options: { behindProxy: true } });
    const begin = async (headers: Record<string, string>) =>
      (await new Client(proxied.url).get('/sso/login/saml/', { headers })).cookies.map((cookie) =>
        cookie.replace(/=[A-Za-z0-9]{43};/, ';'),
      );
    expect(await begin({ 'x-forwarded-proto': 'https' })).toEqual([
      '__Host-sso_login; Max-Age=600; Path=/; HttpOnly; Secure; SameSite=None',
    ]);
    expect(await begin({})).toEqual(['sso_login; Max-Age=600; Path=/; HttpOnly; SameSite=Lax']);
    await proxied.close();
  });

  it('keeps a deactivated user out', async () => {
    const user = (await adminOf(service).get('/api/v2/users/?username=lin')).json.results[0];
    await adminOf(service).patch(`/api/v2/users/${user?.id}/`, { is_active: false });
    await expectRefused(service, await logIn('lin-4711'), 'deactivated');
  });
});
