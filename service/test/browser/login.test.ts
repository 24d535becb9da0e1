import { paleTexts, startChromium, takePictures } from '@tokenctl/testing/chromium.ts';
import type { LoopbackServer } from '@tokenctl/testing/sso/http-server.ts';
import { startOpenIdProvider } from '@tokenctl/testing/sso/openid-provider.ts';
import {
  makeKeyPair,
  SamlIdentityProvider,
  startSamlPages,
} from '@tokenctl/testing/sso/saml-identity-provider.ts';
import { findChromium } from '@tokenctl/testing/tools.ts';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunningService } from '../../src/server.ts';
import { ADMIN, type Body, SECRET_KEY, startTestService } from '../support/service.ts';
import { startGithub } from '../support/sso/github-server.ts';
import { adminOf, set } from '../support/sso/world.ts';

const chromium = findChromium();
if (chromium === null)
  process.stderr.write('There is no Chromium here: the tests in a browser are skipped.\n');

const SECRET = 'a-client-secret-of-the-tests';
const TENANT = '11111111-2222-3333-4444-555555555555';
const ACCOUNTS = {
  ada: { email: 'ada@example.org', email_verified: true, given_name: 'Ada' },
  grace: { tid: TENANT, preferred_username: 'grace@example.org' },
};

/** Each provider: its button, the account that logs in, and what the user is called here. */
const PROVIDERS = [
  { label: 'Google', account: 'ada', username: 'ada', provider: 'google-oauth2' },
  { label: 'Microsoft', account: 'grace', username: 'grace', provider: 'azuread-oauth2' },
  { label: 'GitHub', account: 'octo', username: 'octo', provider: 'github' },
  { label: 'corporate', account: 'lin', username: 'lin', provider: 'saml' },
] as const;

describe.skipIf(chromium === null)('in a browser', () => {
  let service: RunningService;
  let browser: Browser;
  const servers: LoopbackServer[] = [];

  async function inPage<T>(work: (page: Page) => Promise<T>, options: BrowserContextOptions = {}) {
    const context = await browser.newContext({ viewport: { width: 900, height: 800 }, ...options });
    try {
      return await work(await context.newPage());
    } finally {
      await context.close();
    }
  }

  async function whoIs(page: Page): Promise<Body | undefined> {
    const answer = await page.request.get(`${service.url}/api/v2/me/`);
    return answer.ok() ? ((await answer.json()) as Body).results[0] : undefined;
  }

  /** The browser moves the focus there when it first draws the page: some time after it was loaded. */
  async function firstFieldHasFocus(page: Page): Promise<void> {
    await page.locator('#username:focus').waitFor();
  }

  /** Words that are in two lines. */
  function brokenWords(page: Page): Promise<readonly string[]> {
    return page.evaluate(() => {
      const walker = document.createTreeWalker(
        document.querySelector('main') ?? document.body,
        NodeFilter.SHOW_TEXT,
      );
      const broken: string[] = [];
      for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
        for (const { 0: word, index } of (node.textContent ?? '').matchAll(/\w{2,}/g)) {
          const range = document.createRange();
          range.setStart(node, index);
          range.setEnd(node, index + word.length);
          if (new Set([...range.getClientRects()].map(({ top }) => top)).size > 1) broken.push(word);
        }
      }
      return broken;
    });
  }

  /** From the login page by a provider's button through its pages, and back. */
  async function logInWith(page: Page, { label, account }: { label: string; account: string }) {
    await page.goto(`${service.url}/api/login/`);
    await page.getByRole('link', { name: `Log in with ${label}` }).click();
    await page.getByLabel('Account').fill(account);
    await page.getByRole('button', { name: 'Continue' }).click();
    if (label === 'corporate') await page.getByRole('button', { name: 'Back to the service' }).click();
  }

  beforeAll(async () => {
    browser = await startChromium(chromium ?? '');
    service = await startTestService({ secretKey: SECRET_KEY });
    const client = (backend: string) => ({
      clientId: 'automation',
      clientSecret: SECRET,
      redirectUris: [`${service.url}/sso/complete/${backend}/`],
    });
    const google = await startOpenIdProvider({ clients: [client('google-oauth2')], accounts: ACCOUNTS });
    const entra = await startOpenIdProvider({
      clients: [client('azuread-oauth2')],
      accounts: ACCOUNTS,
      path: `/${TENANT}/v2.0`,
    });
    const github = await startGithub(
      { clientId: 'gh', clientSecret: SECRET, redirectUri: `${service.url}/sso/complete/github/` },
      { octo: { id: 583231, name: 'Octo Cat', emails: [], organizations: {}, teams: [] } },
    );
    const keys = makeKeyPair('idp');
    let metadata = '';
    const saml = await startSamlPages((location) => new SamlIdentityProvider({ keys, metadata, location }), {
      lin: { mail: ['lin@example.org'] },
    });
    servers.push(google, entra, github, saml);
    await set(service, 'google-oauth2', {
      SOCIAL_AUTH_GOOGLE_OAUTH2_KEY: 'automation',
      SOCIAL_AUTH_GOOGLE_OAUTH2_SECRET: SECRET,
      SOCIAL_AUTH_GOOGLE_OAUTH2_ISSUER: google.url,
    });
    await set(service, 'azuread-oauth2', {
      SOCIAL_AUTH_AZUREAD_OAUTH2_KEY: 'automation',
      SOCIAL_AUTH_AZUREAD_OAUTH2_SECRET: SECRET,
      SOCIAL_AUTH_AZUREAD_OAUTH2_TENANT_ID: TENANT,
      SOCIAL_AUTH_AZUREAD_OAUTH2_AUTHORITY_HOST: entra.url,
    });
    await set(service, 'github', {
      SOCIAL_AUTH_GITHUB_KEY: 'gh',
      SOCIAL_AUTH_GITHUB_SECRET: SECRET,
      SOCIAL_AUTH_GITHUB_URL: github.url,
      SOCIAL_AUTH_GITHUB_API_URL: `${github.url}/api/v3`,
    });
    await set(service, 'saml', {
      SOCIAL_AUTH_SAML_SP_ENTITY_ID: service.url,
      SOCIAL_AUTH_SAML_ENABLED_IDPS: {
        corporate: {
          entity_id: 'https://idp.example.org/saml',
          url: `${saml.url}/`,
          x509cert: keys.certificate,
        },
      },
    });
    metadata = await (await fetch(`${service.url}/sso/metadata/saml/`)).text();
  });
  afterAll(async () => {
    await browser.close();
    await service.close();
    for (const server of servers) await server.close();
  });

  it('a user logs in with a password, by keyboard alone', () =>
    inPage(async (page) => {
      await page.goto(`${service.url}/`);
      await takePictures(page, 'login');
      await firstFieldHasFocus(page);
      await page.keyboard.type(ADMIN.username);
      await page.keyboard.press('Tab');
      await page.keyboard.type(ADMIN.password);
      await page.keyboard.press('Enter');
      await page.waitForURL(`${service.url}/`);
      expect(await whoIs(page)).toMatchObject({ username: 'admin' });
      await page.goto(`${service.url}/accounts/profile/`);
      await takePictures(page, 'profile');
      await page.getByRole('button', { name: 'Log out' }).click();
      await page.waitForURL(`${service.url}/api/login/`);
      expect(await whoIs(page)).toBeUndefined();
    }));

  it('a wrong password is said in words, to those who listen as well', () =>
    inPage(async (page) => {
      await page.goto(`${service.url}/api/login/`);
      await page.getByLabel('Username').fill('admin');
      await page.getByLabel('Password').fill('wrong');
      await page.getByRole('button', { name: 'Log in' }).click();
      expect(await page.getByRole('alert').textContent()).toBe('Invalid username or password.');
      expect(await page.getByLabel('Password').getAttribute('aria-describedby')).toBe('problem');
      await takePictures(page, 'login-wrong');
    }));

  it('every way to log in is reached with the Tab key, and shows that it has the focus', () =>
    inPage(async (page) => {
      await page.goto(`${service.url}/api/login/`);
      await firstFieldHasFocus(page);
      const reached: string[] = [];
      for (let step = 0; step < 7; step += 1) {
        const [name, outline] = await page.evaluate(() => {
          const element = document.activeElement;
          const style = element === null ? null : getComputedStyle(element);
          return [element?.id || element?.textContent, `${style?.outlineStyle} ${style?.outlineWidth}`];
        });
        reached.push(String(name));
        expect([name, outline]).toEqual([name, 'solid 3px']);
        await page.keyboard.press('Tab');
      }
      const links = PROVIDERS.map(({ label }) => `Log in with ${label}`);
      expect(reached).toEqual(['username', 'password', 'Log in', ...links]);
    }));

  it.each(PROVIDERS)('a first login with $label makes a user, a second one finds it', async (each) => {
    const first = await inPage(async (page) => {
      await logInWith(page, each);
      expect(page.url()).toBe(`${service.url}/`);
      return whoIs(page);
    });
    expect(first).toMatchObject({ username: each.username, auth: [{ provider: each.provider }] });
    // Without a script all of it works as well.
    const options = { javaScriptEnabled: false };
    const second = await inPage(async (page) => {
      await logInWith(page, each);
      return whoIs(page);
    }, options);
    expect(second?.id).toBe(first?.id);
  });

  it('such a user may make no token until the setting allows it', () =>
    inPage(async (page) => {
      await logInWith(page, PROVIDERS[0]);
      const create = async () => {
        const cookies = await page.context().cookies();
        const token = cookies.find(({ name }) => name === 'csrftoken')?.value ?? '';
        const answer = await page.request.post(`${service.url}/api/v2/tokens/`, {
          data: { scope: 'read' },
          headers: { 'x-csrftoken': token },
        });
        return answer.status();
      };
      expect(await create()).toBe(403);
      await set(service, 'authentication', { ALLOW_OAUTH2_FOR_EXTERNAL_USERS: true });
      expect(await create()).toBe(201);
    }));

  it('an application that interrupts itself for the login is asked about after it', () =>
    inPage(async (page) => {
      const redirect = `${servers[0]?.url}/nothing/of/the/reporting/dashboard?source=automation`;
      // A user who is in no organization does not see the application.
      await set(service, 'github', { SOCIAL_AUTH_GITHUB_ORGANIZATION_MAP: { Default: { users: true } } });
      const application = await adminOf(service).post('/api/v2/applications/', {
        name: 'Reporting dashboard',
        organization: 1,
        client_type: 'confidential',
        authorization_grant_type: 'authorization-code',
        redirect_uris: redirect,
      });
      const query = new URLSearchParams({
        response_type: 'code',
        client_id: String(application.json['client_id']),
        redirect_uri: redirect,
        scope: 'read',
      });
      await page.goto(`${service.url}/api/o/authorize/?${query}`);
      await page.getByRole('link', { name: 'Log in with GitHub' }).click();
      await page.getByLabel('Account').fill('octo');
      await page.getByRole('button', { name: 'Continue' }).click();
      await takePictures(page, 'consent');
      expect(await page.getByRole('heading').textContent()).toBe(
        'Allow Reporting dashboard to use your account?',
      );
      expect(await paleTexts(page)).toEqual([]);
      // Where the answer goes is read before it is given: no name in it is broken.
      await page.setViewportSize({ width: 375, height: 812 });
      expect(await page.getByText(redirect).count()).toBe(1);
      expect(await brokenWords(page)).toEqual([]);
      await page.getByRole('button', { name: 'Allow' }).click();
      expect(page.url()).toMatch(`${redirect}&code=`);
    }));

  it('a login that the provider refuses ends at a page that says so, and leads back', () =>
    inPage(async (page) => {
      await logInWith(page, { label: 'GitHub', account: 'nobody' });
      const error = new URL(page.url());
      expect([error.pathname, error.searchParams.get('reason')]).toEqual([
        '/sso/error/',
        'refused_by_provider',
      ]);
      const id = error.searchParams.get('request') ?? 'none';
      expect(await page.getByText('Request ID').textContent()).toBe(`Request ID: ${id}`);
      expect(await page.getByRole('alert').textContent()).toBe('The provider did not log you in.');
      await takePictures(page, 'error');
      await page.getByRole('link', { name: 'To the login page' }).click();
      expect(page.url()).toBe(`${service.url}/api/login/`);
    }));

  it('an image of another page begins no login', () =>
    inPage(async (page) => {
      const pending = 'SELECT count(*)::int AS count FROM service_sso_login';
      const before = await service.database.query(pending);
      // The site of a provider: a page that the service knows nothing of.
      await page.goto(`${servers[0]?.url}/nothing`);
      const asked = page.waitForRequest(/\/sso\/login\//);
      await page.setContent(`<img src="${service.url}/sso/login/google-oauth2/" alt="">`);
      // The browser keeps the answer, which is no image, from the page.
      await (await asked).response();
      expect(await service.database.query(pending)).toEqual(before);
    }));

  it.each(['light', 'dark'] as const)('all texts can be read, %s', (colorScheme) =>
    inPage(
      async (page) => {
        const paths = [
          '/api/login/',
          '/sso/error/?reason=unverified&request=00000000-0000-4000-8000-000000000000',
          '/api/o/authorize/?client_id=x',
          '/nothing',
        ];
        await page.goto(`${service.url}/api/login/`);
        await page.getByLabel('Username').fill(ADMIN.username);
        await page.getByLabel('Password').fill(ADMIN.password);
        await page.getByRole('button', { name: 'Log in' }).click();
        for (const path of [...paths, '/accounts/profile/']) {
          await page.goto(`${service.url}${path}`);
          expect([path, await paleTexts(page)]).toEqual([path, []]);
          expect([path, await page.title()]).toEqual([path, expect.stringMatching(/\w/)]);
          expect([path, await page.locator('html').getAttribute('lang')]).toEqual([path, 'en']);
        }
      },
      { colorScheme },
    ),
  );

  it('the login page fits a small screen, without scrolling sideways', () =>
    inPage(
      async (page) => {
        await page.goto(`${service.url}/api/login/`);
        await takePictures(page, 'login-small');
        const wide = await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
        expect(wide).toBe(false);
      },
      { viewport: { width: 320, height: 640 } },
    ));
});
