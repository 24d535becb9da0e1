import { Secret } from '@tokenctl/common/secret.ts';
import { createDatabase } from '@tokenctl/testing/embedded-postgres.ts';
import type { LoopbackServer } from '@tokenctl/testing/sso/http-server.ts';
import { type OpenIdProvider, startOpenIdProvider } from '@tokenctl/testing/sso/openid-provider.ts';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { RunningService } from '../../src/server.ts';
import { startTestService } from '../support/service.ts';
import { Browser } from '../support/sso/browser.ts';
import { startGithub } from '../support/sso/github-server.ts';
import { expectRefused, isReturn, set, whoIs } from '../support/sso/world.ts';
import { idpFor, post, samlKeys, startSamlService } from './saml-world.ts';

/** Under which both replicas are reached, by way of a proxy. */
const PROXY = { 'x-forwarded-host': '127.0.0.1:1', 'x-forwarded-proto': 'http' };
const BASE = 'http://127.0.0.1:1';
const keys = samlKeys();

describe('two replicas on one PostgreSQL database', () => {
  let one: RunningService;
  let other: RunningService;
  let provider: OpenIdProvider;
  let github: LoopbackServer;
  /** The same address at the other replica. */
  const there = (back: string) => back.replace(BASE, other.url);

  /** Begins a login at one replica; the browser comes back with this address. */
  async function begin(backend: string, account: string): Promise<{ browser: Browser; back: string }> {
    const browser = new Browser(PROXY);
    const page = await browser.open(`${one.url}/sso/login/${backend}/`, isReturn);
    const { location } = await browser.send(page.url, { account }, isReturn);
    return { browser, back: location ?? '' };
  }

  beforeAll(async () => {
    const url = new Secret(await createDatabase(inject('postgresUrl')));
    const options = { database: { url }, behindProxy: true };
    one = await startSamlService({ keys, options });
    other = await startTestService({
      ...options,
      secretKey: new Secret('a-key-of-the-tests-a-key-of-the-tests'),
    });
    provider = await startOpenIdProvider({
      clients: [
        {
          clientId: 'c',
          clientSecret: 'a-client-secret',
          redirectUris: [`${BASE}/sso/complete/google-oauth2/`],
        },
      ],
      accounts: { ada: { email: 'ada@example.org', email_verified: true } },
    });
    github = await startGithub(
      { clientId: 'c', clientSecret: 's', redirectUri: `${BASE}/sso/complete/github/` },
      { octo: { id: 1, name: null, emails: [], organizations: {}, teams: [] } },
    );
    await set(one, 'google-oauth2', {
      SOCIAL_AUTH_GOOGLE_OAUTH2_KEY: 'c',
      SOCIAL_AUTH_GOOGLE_OAUTH2_SECRET: 'a-client-secret',
      SOCIAL_AUTH_GOOGLE_OAUTH2_ISSUER: provider.url,
    });
    await set(one, 'github', {
      SOCIAL_AUTH_GITHUB_KEY: 'c',
      SOCIAL_AUTH_GITHUB_SECRET: 's',
      SOCIAL_AUTH_GITHUB_URL: github.url,
      SOCIAL_AUTH_GITHUB_API_URL: `${github.url}/api/v3`,
    });
  });
  afterAll(async () => {
    await one.close();
    await other.close();
    await provider.close();
    await github.close();
  });

  it.each([
    ['google-oauth2', 'ada'],
    ['github', 'octo'],
  ])('complete on one what was begun on the other: %s', async (backend, account) => {
    const { browser, back } = await begin(backend, account);
    expect(back).toContain(`${BASE}/sso/complete/${backend}/`);
    expect((await browser.open(there(back))).status).toBe(200);
    expect(await whoIs(one, browser)).toMatchObject({ external_account: 'social' });
    const again = new Browser(PROXY);
    again.cookies.set('sso_login', browser.cookies.get('sso_login') ?? '');
    const stop = await again.open(back.replace(BASE, one.url));
    await expectRefused(one, { browser: again, stop }, 'no_such_login');
  });

  it('complete on one what was begun on the other: SAML; an assertion is used up on both', async () => {
    const metadata = await (await fetch(`${one.url}/sso/metadata/saml/`, { headers: PROXY })).text();
    expect(metadata).toContain(`${BASE}/sso/complete/saml/`);
    const idp = await idpFor(one, keys);
    const browser = new Browser(PROXY);
    const begun = await browser.open(`${one.url}/sso/login/saml/`, (url) => url.startsWith('https://idp.'));
    const asked = await idp.read(begun.location ?? '', false);
    const response = await idp.answer(idp.parts(asked, 'lin'));
    const done = await post(other, { browser, response, relayState: asked.relayState });
    expect(done.url).toBe(`${other.url}/accounts/profile/`);
    const again = new Browser(PROXY);
    again.cookies.set('sso_login', browser.cookies.get('sso_login') ?? '');
    const stop = await post(one, { browser: again, response, relayState: asked.relayState });
    await expectRefused(one, { browser: again, stop }, 'no_such_login');
  });
});
