import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Secret } from '@tokenctl/common/secret.ts';
import { hashToken } from '@tokenctl/service/auth/secret-hashes.ts';
import type { RunningService } from '@tokenctl/service/server.ts';
import { enableLocalAccounts } from '@tokenctl/service/service-database.ts';
import { findLiveToken } from '@tokenctl/service/store/issued-tokens.ts';
import {
  ADMIN,
  basic,
  bearer,
  Client,
  DATABASES,
  SECRET_KEY,
  startTestService,
} from '@tokenctl/service/testing/service.ts';
import type { Browser } from '@tokenctl/service/testing/sso/browser.ts';
import { adminOf, logInThrough, set, whoIs } from '@tokenctl/service/testing/sso/world.ts';
import { createDatabase } from '@tokenctl/testing/embedded-postgres.ts';
import { type OpenIdProvider, startOpenIdProvider } from '@tokenctl/testing/sso/openid-provider.ts';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { enableLocalAuth } from '../../../src/app/service/run-service.ts';

const AUTHENTICATION = '/api/v2/settings/authentication/';
const GOOGLE = '/api/v2/settings/google-oauth2/';

describe.each(DATABASES)('local accounts on %s', (kind) => {
  const folder = mkdtempSync(join(tmpdir(), 'tokenctl-local-'));
  let place: { readonly url: Secret } | { readonly folder: string };
  let service: RunningService;
  let provider: OpenIdProvider;
  const start = () => startTestService({ kind, database: place, secretKey: SECRET_KEY });
  const turnOff = () => adminOf(service).patch(AUTHENTICATION, { DISABLE_LOCAL_AUTH: true });
  const logIn = (account = 'root') => logInThrough(service, { backend: 'google-oauth2', account });
  const idOf = async ({ browser }: { browser: Browser }) => (await whoIs(service, browser))?.id;
  const clientOf = (browser: Browser) =>
    new Client(service.url, {
      'x-csrftoken': browser.cookies.get('csrftoken') ?? '',
      cookie: [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
    });
  const configure = () =>
    set(service, 'google-oauth2', {
      SOCIAL_AUTH_GOOGLE_OAUTH2_KEY: 'c',
      SOCIAL_AUTH_GOOGLE_OAUTH2_SECRET: 'a-client-secret',
      SOCIAL_AUTH_GOOGLE_OAUTH2_ISSUER: provider.url,
    });

  beforeAll(async () => {
    place =
      kind === 'PostgreSQL' ? { url: new Secret(await createDatabase(inject('postgresUrl'))) } : { folder };
    service = await start();
    provider = await startOpenIdProvider({
      clients: [
        {
          clientId: 'c',
          clientSecret: 'a-client-secret',
          redirectUris: [`${service.url}/sso/complete/google-oauth2/`],
        },
      ],
      accounts: {
        root: { preferred_username: 'root', groups: ['admins'] },
        second: { preferred_username: 'second', groups: ['admins'] },
      },
    });
  });
  afterAll(async () => {
    await service.close();
    await provider.close();
    rmSync(folder, { recursive: true });
  });

  it('stay on while no one else could log in, and administer', async () => {
    expect((await turnOff()).text).toMatch(/no identity provider is configured/);
    await configure();
    expect((await turnOff()).text).toMatch(/no user has logged in with the current configuration/);
    await logIn();
    expect((await turnOff()).text).toMatch(/no superuser could log in/);
    await set(service, 'google-oauth2', {
      SOCIAL_AUTH_GOOGLE_OAUTH2_USER_FLAGS_BY_ATTR: {
        is_superuser_attr: 'groups',
        is_superuser_value: 'admins',
      },
    });
    await logIn();
    await set(service, 'google-oauth2', { SOCIAL_AUTH_GOOGLE_OAUTH2_SECRET: 'another-secret' });
    expect((await turnOff()).text).toMatch(/no user has logged in with the current configuration/);
    await configure();
    expect((await adminOf(service).get(AUTHENTICATION)).json['DISABLE_LOCAL_AUTH']).toBe(false);
  });

  it('end with their sessions, passwords and tokens when they are turned off; the others go on', async () => {
    const local = new Client(service.url);
    await local.logIn(ADMIN.username, ADMIN.password);
    const token = (await adminOf(service).post('/api/v2/tokens/', { scope: 'write' })).json.token;
    await set(service, 'authentication', { ALLOW_OAUTH2_FOR_EXTERNAL_USERS: true });
    const { browser } = await logIn();
    const external = clientOf(browser);
    const kept = (await external.post('/api/v2/tokens/', { scope: 'write' })).json.token;

    const answer = await external.patch(AUTHENTICATION, { DISABLE_LOCAL_AUTH: true });
    expect([answer.status, answer.json['AUTHENTICATION_BACKENDS']]).toEqual([200, ['google-oauth2']]);

    expect((await local.get('/api/v2/me/')).status).toBe(401);
    expect((await adminOf(service).get('/api/v2/me/')).status).toBe(401);
    expect((await new Client(service.url, bearer(token)).get('/api/v2/me/')).status).toBe(401);
    expect((await new Client(service.url).logIn(ADMIN.username, ADMIN.password)).status).toBe(401);
    expect(await whoIs(service, browser)).toMatchObject({ username: 'root', is_superuser: true });
    expect((await new Client(service.url, bearer(kept)).get('/api/v2/me/')).status).toBe(200);
    const [left] = await service.database.query<{ count: number }>(
      'SELECT count(*)::int AS count FROM main_oauth2accesstoken',
    );
    expect(left?.count).toBe(1);

    const page = (await new Client(service.url).get('/api/login/')).text;
    expect(page).toContain('Log in with Google');
    expect(page).not.toContain('type="password"');

    for (const change of [
      external.patch(GOOGLE, { SOCIAL_AUTH_GOOGLE_OAUTH2_KEY: '' }),
      external.delete(GOOGLE),
    ]) {
      expect(await change).toMatchObject({
        status: 400,
        text: expect.stringContaining('no identity provider'),
      });
    }
  });

  it('stay off only while a superuser can log in: no later change takes the last one away', async () => {
    const refused = { status: 400, text: expect.stringContaining('Turn DISABLE_LOCAL_AUTH off') };
    const external = clientOf((await logIn()).browser);
    const github = { SOCIAL_AUTH_GITHUB_KEY: 'k', SOCIAL_AUTH_GITHUB_SECRET: 's' };
    expect((await external.patch('/api/v2/settings/github/', github)).status).toBe(200);
    // A provider is still configured then, but no superuser can log in through it.
    expect(await external.patch(GOOGLE, { SOCIAL_AUTH_GOOGLE_OAUTH2_SECRET: 'another' })).toMatchObject(
      refused,
    );
    expect(await external.patch(GOOGLE, { SOCIAL_AUTH_GOOGLE_OAUTH2_KEY: '' })).toMatchObject(refused);
    expect(await external.delete(GOOGLE)).toMatchObject(refused);
    expect((await external.patch(GOOGLE, { SOCIAL_AUTH_GOOGLE_OAUTH2_LABEL: 'Ours' })).status).toBe(200);
    expect((await external.patch(AUTHENTICATION, { SESSION_COOKIE_AGE: 1801 })).status).toBe(200);
    expect((await external.patch('/api/v2/settings/github/', { SOCIAL_AUTH_GITHUB_KEY: '' })).status).toBe(
      200,
    );

    // A superuser of a provider that is not configured any more, with a token, and the two who can log in.
    const [root, second] = [await idOf(await logIn()), await idOf(await logIn('second'))];
    await service.database.execute(
      `INSERT INTO social_auth_usersocialauth (provider, uid, user_id, created, modified, extra_data)
       VALUES ('github', '1', 1, now(), now(), '{}')`,
    );
    await service.database.execute(
      `INSERT INTO main_oauth2accesstoken (token, expires, scope, user_id)
       VALUES (encode(sha256('of-admin'), 'hex'), '2999-01-01', 'write', 1)`,
    );
    const admin = new Client(service.url, bearer('of-admin'));
    expect((await admin.patch(`/api/v2/users/${root}/`, { is_superuser: false })).status).toBe(200);
    for (const change of [{ is_superuser: false }, { is_active: false }]) {
      expect(await admin.patch(`/api/v2/users/${second}/`, change)).toMatchObject(refused);
    }
    expect(await admin.delete(`/api/v2/users/${second}/`)).toMatchObject(refused);

    // Nor does the map of a login: the last one stays a superuser.
    const flags = (value: string) =>
      external.patch(GOOGLE, {
        SOCIAL_AUTH_GOOGLE_OAUTH2_USER_FLAGS_BY_ATTR: {
          is_superuser_attr: 'groups',
          is_superuser_value: value,
        },
      });
    expect((await admin.patch(`/api/v2/users/${root}/`, { is_superuser: true })).status).toBe(200);
    expect((await flags('nobody')).status).toBe(200);
    expect(await whoIs(service, (await logIn()).browser)).toMatchObject({ is_superuser: false });
    expect(await whoIs(service, (await logIn('second')).browser)).toMatchObject({ is_superuser: true });
    expect((await admin.patch(GOOGLE, { SOCIAL_AUTH_GOOGLE_OAUTH2_USER_FLAGS_BY_ATTR: {} })).status).toBe(
      200,
    );
    await service.database.execute("DELETE FROM social_auth_usersocialauth WHERE provider = 'github'");
    await service.database.execute('DELETE FROM main_oauth2accesstoken WHERE user_id = 1');
  });

  it('refuse a session or token of theirs that was made at the same moment', async () => {
    await service.database.execute(
      `INSERT INTO main_oauth2accesstoken (token, expires, scope, user_id)
       VALUES (encode(sha256('late-token'), 'hex'), '2999-01-01', 'write', 1)`,
    );
    expect((await new Client(service.url, bearer('late-token')).get('/api/v2/me/')).status).toBe(401);
    // Nor is anybody told that it lives.
    expect(await findLiveToken(service.database, hashToken('late-token'), new Date())).toBeNull();
  });

  it('come back by hand on the host, with an entry in the activity stream', async () => {
    if ('folder' in place) {
      await expect(enableLocalAccounts(place, new Date())).rejects.toMatchObject({ code: 'busy' });
      await service.close();
    }
    const request = {
      data: 'folder' in place ? place.folder : undefined,
      database: undefined,
      databaseFile: undefined,
    };
    const environment = 'url' in place ? { TOKENCTL_SERVICE_DATABASE: place.url.reveal() } : {};
    expect(await enableLocalAuth({ ...request, dryRun: true }, environment)).toBe(true);
    expect(await enableLocalAuth(request, environment)).toBe(true);
    expect(await enableLocalAuth(request, environment)).toBe(false);
    if ('folder' in place) service = await start();
    const admin = new Client(service.url, basic(ADMIN.username, ADMIN.password));
    expect((await admin.get('/api/v2/me/')).status).toBe(200);
    const entries = await admin.get('/api/v2/activity_stream/?operation=delete&object1=setting');
    expect(entries.json.results).toMatchObject([{ changes: { value: true } }]);
  });

  it('cannot be turned on where there is no service', async () => {
    const nowhere =
      kind === 'PostgreSQL'
        ? { url: new Secret(await createDatabase(inject('postgresUrl'))) }
        : { folder: join(folder, 'missing') };
    await expect(enableLocalAccounts(nowhere, new Date())).rejects.toMatchObject({ code: 'not_found' });
  });
});
