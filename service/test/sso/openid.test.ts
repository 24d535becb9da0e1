import { type OpenIdProvider, startOpenIdProvider } from '@tokenctl/testing/sso/openid-provider.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunningService } from '../../src/server.ts';
import { SECRET_KEY, startTestService } from '../support/service.ts';
import { Browser } from '../support/sso/browser.ts';
import { adminOf, expectRefused, logInThrough, set, untilReturn, whoIs } from '../support/sso/world.ts';

const SECRET = 'a-client-secret-of-the-tests';
const TENANT = '11111111-2222-3333-4444-555555555555';

const ACCOUNTS = {
  'g-1': {
    email: 'Ada@Example.org',
    email_verified: true,
    hd: 'example.org',
    given_name: 'Ada',
    family_name: 'Lovelace',
    groups: ['ops', 'leads'],
  },
  'g-2': { email: 'admin@example.org', email_verified: true, hd: 'example.org' },
  'g-3': { email: 'eve@example.org', email_verified: true },
  'g-5': { preferred_username: 'ＡＤＭＩＮ' },
  'g-6': { preferred_username: '\u0430dmin' },
  'g-4': { email: 'boss@example.org', email_verified: false, hd: 'example.org' },
  'e-1': { tid: TENANT, preferred_username: 'grace@contoso.example', name: 'Grace Hopper' },
  'e-2': { tid: '99999999-2222-3333-4444-555555555555', preferred_username: 'x@fabrikam.example' },
};

describe('OpenID Connect', () => {
  let service: RunningService;
  let google: OpenIdProvider;
  let entra: OpenIdProvider;
  const admin = () => adminOf(service);
  const viaGoogle = (account: string, browser?: Browser) =>
    logInThrough(service, { backend: 'google-oauth2', account, ...(browser && { browser }) });
  const viaEntra = (account: string) => logInThrough(service, { backend: 'azuread-oauth2', account });

  beforeAll(async () => {
    service = await startTestService({ secretKey: SECRET_KEY });
    const client = (backend: string) => ({
      clientId: 'automation',
      clientSecret: SECRET,
      redirectUris: [`${service.url}/sso/complete/${backend}/`],
    });
    google = await startOpenIdProvider({
      clients: [
        client('google-oauth2'),
        {
          ...client('oidc'),
          clientId: 'generic',
          logout: { uri: `${service.url}/sso/backchannel-logout/`, bySession: false },
        },
      ],
      accounts: ACCOUNTS,
    });
    entra = await startOpenIdProvider({
      clients: [client('azuread-oauth2')],
      accounts: ACCOUNTS,
      path: `/${TENANT}/v2.0`,
    });
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
  });
  afterAll(async () => {
    await service.close();
    await google.close();
    await entra.close();
  });

  it('makes a user on the first login, and finds it on the second', async () => {
    const first = await viaGoogle('g-1');
    expect(first.stop.url).toBe(`${service.url}/accounts/profile/`);
    const user = await whoIs(service, first.browser);
    expect(user).toMatchObject({
      username: 'ada',
      email: 'ada@example.org',
      first_name: 'Ada',
      last_name: 'Lovelace',
      external_account: 'social',
      is_superuser: false,
      auth: [{ provider: 'google-oauth2', uid: `${google.url}|g-1` }],
    });
    const second = await viaGoogle('g-1');
    expect((await whoIs(service, second.browser))?.id).toBe(user?.id);
    const entries = await admin().get(`/api/v2/users/${user?.id}/activity_stream/?operation=create`);
    expect(entries.json.count).toBe(1);
  });

  it('makes one user of several first logins at the same time', async () => {
    const logins = await Promise.all([viaGoogle('g-3'), viaGoogle('g-3'), viaGoogle('g-3')]);
    const ids = await Promise.all(logins.map(async ({ browser }) => (await whoIs(service, browser))?.id));
    expect(new Set(ids).size).toBe(1);
  });

  it('gives a user whose name or address someone has already an account of its own', async () => {
    const before = (await admin().get('/api/v2/users/?username=admin')).json.results[0];
    await admin().patch(`/api/v2/users/${before?.id}/`, { email: 'admin@example.org' });
    const { browser } = await viaGoogle('g-2');
    expect(await whoIs(service, browser)).toMatchObject({ username: 'admin-2', is_superuser: false });
    const after = (await admin().get('/api/v2/users/?username=admin')).json.results[0];
    expect(after).toMatchObject({ external_account: null, auth: [] });
    expect((await browser.open(`${service.url}/api/v2/settings/authentication/`)).status).toBe(403);
  });

  it('gives no one a name that looks like that of someone else', async () => {
    const nameOf = async (account: string) =>
      (await whoIs(service, (await viaGoogle(account)).browser))?.username;
    expect(await nameOf('g-5')).toMatch(/^ADMIN-\d+$/);
    expect(await nameOf('g-6')).toMatch(/^\u0430dmin-\d+$/);
  });

  it('takes no address that no one verified, also not for a role', async () => {
    await set(service, 'google-oauth2', {
      SOCIAL_AUTH_GOOGLE_OAUTH2_USER_FLAGS_BY_ATTR: {
        is_superuser_attr: 'email',
        is_superuser_value: 'boss@example.org',
      },
    });
    const { browser } = await viaGoogle('g-4');
    expect(await whoIs(service, browser)).toMatchObject({ email: '', username: 'user', is_superuser: false });
    await set(service, 'google-oauth2', { SOCIAL_AUTH_GOOGLE_OAUTH2_USER_FLAGS_BY_ATTR: {} });
  });

  it('lets accounts of the allowed domains in only, as Google says and not by address', async () => {
    await set(service, 'google-oauth2', { SOCIAL_AUTH_GOOGLE_OAUTH2_WHITELISTED_DOMAINS: ['Example.org'] });
    expect((await viaGoogle('g-1')).stop.status).toBe(200);
    await expectRefused(service, await viaGoogle('g-3'), 'not_allowed');
    await set(service, 'google-oauth2', { SOCIAL_AUTH_GOOGLE_OAUTH2_WHITELISTED_DOMAINS: [] });
  });

  it('lets users of the allowed tenants in only', async () => {
    const { browser } = await viaEntra('e-1');
    expect(await whoIs(service, browser)).toMatchObject({
      username: 'grace',
      first_name: 'Grace',
      last_name: 'Hopper',
    });
    await set(service, 'azuread-oauth2', { SOCIAL_AUTH_AZUREAD_OAUTH2_WHITELISTED_TENANTS: [TENANT] });
    expect((await viaEntra('e-1')).stop.status).toBe(200);
    await expectRefused(service, await viaEntra('e-2'), 'not_allowed');
  });

  it('keeps the accounts of two issuers apart, whatever they are called', async () => {
    const names = (await admin().get('/api/v2/users/?page_size=100')).json.results.flatMap(
      ({ auth }) => auth as { readonly provider: string; readonly uid: string }[],
    );
    expect(names).toContainEqual({ provider: 'azuread-oauth2', uid: `${entra.issuer}|e-1` });
    expect(new Set(names.map(({ provider, uid }) => `${provider} ${uid}`)).size).toBe(names.length);
  });

  it('keeps a deactivated user out', async () => {
    const { browser } = await viaGoogle('g-1');
    const user = await whoIs(service, browser);
    await admin().patch(`/api/v2/users/${user?.id}/`, { is_active: false });
    expect(await whoIs(service, browser)).toBeNull();
    await expectRefused(service, await viaGoogle('g-1'), 'deactivated');
    await admin().patch(`/api/v2/users/${user?.id}/`, { is_active: true });
    expect((await viaGoogle('g-1')).stop.status).toBe(200);
  });

  it('makes no users where no fields are to be taken, but lets those in who are there', async () => {
    await set(service, 'authentication', { SOCIAL_AUTH_USER_FIELDS: [] });
    await expectRefused(service, await viaGoogle('e-1'), 'no_new_users');
    expect((await viaGoogle('g-1')).stop.status).toBe(200);
    await set(service, 'authentication', { SOCIAL_AUTH_USER_FIELDS: null });
  });

  it('forbids tokens to such users until the setting allows them', async () => {
    const { browser } = await viaGoogle('g-1');
    const create = async () => {
      const answer = await fetch(`${service.url}/api/v2/tokens/`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'x-csrftoken': browser.cookies.get('csrftoken') ?? '',
          cookie: [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
        },
        body: '{"scope": "read"}',
      });
      return answer.status;
    };
    expect(await create()).toBe(403);
    await set(service, 'authentication', { ALLOW_OAUTH2_FOR_EXTERNAL_USERS: true });
    expect(await create()).toBe(201);
    await set(service, 'authentication', { ALLOW_OAUTH2_FOR_EXTERNAL_USERS: false });
  });

  it('goes on where the login was interrupted, and never to another site', async () => {
    const login = (next: string) =>
      logInThrough(service, {
        backend: 'google-oauth2',
        account: 'g-1',
        query: `?next=${encodeURIComponent(next)}`,
      });
    expect((await login('/api/v2/me/?format=json')).stop.url).toBe(`${service.url}/api/v2/me/?format=json`);
    for (const next of [
      'https://evil.invalid/',
      '//evil.invalid/',
      '/\\evil.invalid/',
      '/\t/evil.invalid',
      'javascript:alert(1)',
      '\\\\evil.invalid',
      '/%0d%0aLocation:https://evil.invalid/\r\n',
    ]) {
      const { stop } = await login(next);
      expect([next, stop.url]).toEqual([next, `${service.url}/accounts/profile/`]);
    }
  });

  it('says in words what a provider refused, and that one cannot be reached', async () => {
    await expectRefused(service, await viaGoogle('nobody'), 'refused_by_provider');
    await set(service, 'google-oauth2', { SOCIAL_AUTH_GOOGLE_OAUTH2_ISSUER: 'http://127.0.0.1:9' });
    const browser = new Browser();
    const stop = await browser.open(`${service.url}/sso/login/google-oauth2/`);
    await expectRefused(service, { browser, stop }, 'unreachable');
    await set(service, 'google-oauth2', { SOCIAL_AUTH_GOOGLE_OAUTH2_ISSUER: google.url });
  });

  it('is not there where it is not configured', async () => {
    for (const backend of ['github', 'saml', 'nothing']) {
      const browser = new Browser();
      const stop = await browser.open(`${service.url}/sso/login/${backend}/`);
      await expectRefused(service, { browser, stop }, 'not_configured');
    }
  });

  it('logs in through any provider by the generic settings, beside another client of the same issuer', async () => {
    const unset = await admin().get('/api/v2/settings/oidc/');
    expect(unset.json).toMatchObject({
      SOCIAL_AUTH_OIDC_KEY: null,
      SOCIAL_AUTH_OIDC_SECRET: '',
      SOCIAL_AUTH_OIDC_OIDC_ENDPOINT: '',
      SOCIAL_AUTH_OIDC_VERIFY_SSL: true,
      SOCIAL_AUTH_OIDC_CALLBACK_URL: `${service.url}/sso/complete/oidc/`,
    });
    await set(service, 'oidc', {
      SOCIAL_AUTH_OIDC_KEY: 'generic',
      SOCIAL_AUTH_OIDC_SECRET: SECRET,
      SOCIAL_AUTH_OIDC_OIDC_ENDPOINT: google.url,
      SOCIAL_AUTH_OIDC_VERIFY_SSL: true,
      SOCIAL_AUTH_OIDC_LABEL: 'Keycloak',
      SOCIAL_AUTH_OIDC_ORGANIZATION_MAP: { Ops: { admins: { groups: 'leads' } } },
    });
    const unverified = await admin().patch('/api/v2/settings/oidc/', { SOCIAL_AUTH_OIDC_VERIFY_SSL: false });
    expect([unverified.status, unverified.text]).toEqual([
      400,
      expect.stringContaining('NODE_EXTRA_CA_CERTS'),
    ]);
    expect((await admin().get('/api/v2/auth/')).json).toMatchObject({
      oidc: { login_url: expect.stringMatching(/\/sso\/login\/oidc\/$/) },
    });
    expect((await new Browser().open(`${service.url}/api/login/`)).text).toContain('Keycloak');
    const { browser } = await logInThrough(service, { backend: 'oidc', account: 'g-1' });
    const user = await whoIs(service, browser);
    expect(user).toMatchObject({
      auth: [{ provider: 'oidc', uid: `${google.url}|g-1` }],
      email: 'ada@example.org',
    });
    const administered = await admin().get(`/api/v2/users/${user?.id}/admin_of_organizations/`);
    expect(administered.json.results).toMatchObject([{ name: 'Ops' }]);
    await google.logOut('generic', 'g-1');
    expect(await whoIs(service, browser)).toBeNull();
    await set(service, 'oidc', { SOCIAL_AUTH_OIDC_SECRET: '' });
    const stop = await browser.open(`${service.url}/sso/login/oidc/`);
    await expectRefused(service, { browser, stop }, 'not_configured');
  });

  it('takes an answer once: the same address is worth nothing after it', async () => {
    const { browser, back } = await untilReturn(service, { backend: 'google-oauth2', account: 'g-1' });
    expect((await browser.open(back)).status).toBe(200);
    const again = new Browser();
    again.cookies.set('sso_login', browser.cookies.get('sso_login') ?? '');
    await expectRefused(service, { browser: again, stop: await again.open(back) }, 'no_such_login');
  });
});
