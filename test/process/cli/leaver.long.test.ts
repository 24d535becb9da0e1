import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { basic, bearer, Client } from '@tokenctl/service/testing/service.ts';
import { logInThrough } from '@tokenctl/service/testing/sso/world.ts';
import { startOpenIdProvider } from '@tokenctl/testing/sso/openid-provider.ts';
import { until } from '@tokenctl/testing/until.ts';
import { Attribute, Change } from 'ldapts';
import { expect, onTestFinished, test } from 'vitest';
import { scimAnswer } from '../../support/directory-providers.ts';
import { providerServer } from '../../support/provider-server.ts';
import { NO_SLAPD, PEOPLE, person, READER, startSlapd } from '../../support/slapd.ts';
import { databaseEstate } from './database-estate.ts';

const db = databaseEstate();
const SECRET = 'a-client-secret-of-the-tests';
const DISABLED = 'https://schemas.openid.net/secevent/risc/event-type/account-disabled';

/** A provider at which the service logs users in, and which tells it of logouts. External users may have tokens. */
async function provider(names: readonly string[]) {
  const service = { url: db.service() };
  const provider = await startOpenIdProvider({
    clients: [
      {
        clientId: 'automation',
        clientSecret: SECRET,
        redirectUris: [`${service.url}/sso/complete/google-oauth2/`],
        logout: { uri: `${service.url}/sso/backchannel-logout/`, bySession: false },
      },
    ],
    accounts: Object.fromEntries(names.map((name) => [name, { preferred_username: name }])),
  });
  onTestFinished(() => provider.close());
  const admin = new Client(service.url, basic('admin', 'correct horse'));
  const set = async (category: string, settings: object) =>
    expect((await admin.patch(`/api/v2/settings/${category}/`, settings)).status).toBe(200);
  await set('authentication', { ALLOW_OAUTH2_FOR_EXTERNAL_USERS: true });
  await set('google-oauth2', {
    SOCIAL_AUTH_GOOGLE_OAUTH2_KEY: 'automation',
    SOCIAL_AUTH_GOOGLE_OAUTH2_SECRET: SECRET,
    SOCIAL_AUTH_GOOGLE_OAUTH2_ISSUER: provider.issuer,
  });
  /** Logs in through the provider, and makes a personal access token. */
  const makeToken = async (account: string) => {
    const { browser } = await logInThrough(service as never, { backend: 'google-oauth2', account });
    const answer = await fetch(`${service.url}/api/v2/tokens/`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-csrftoken': browser.cookies.get('csrftoken') ?? '',
        cookie: [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
      },
      body: '{"scope": "write"}',
    });
    const { token = '' } = (await answer.json()) as { token?: string };
    expect([answer.status, await statusOf(token)]).toEqual([201, 200]);
    return token;
  };
  const statusOf = async (token: string) =>
    (await new Client(service.url, bearer(token)).get('/api/v2/me/')).status;
  const refused = (token: string) => until(async () => (await statusOf(token)) === 401);
  return { service, provider, set, makeToken, statusOf, refused };
}

test('whoever is disabled at the provider has no token here: by event, by logout, by revocation and by the sweep', async () => {
  const at = await provider(['event', 'logout', 'revoke', 'sweep', 'stays']);
  const kept = await at.makeToken('stays');

  // What the provider does not say, no one knows: the token goes on working.
  const byEvent = await at.makeToken('event');
  at.provider.disable('event');
  expect(await at.statusOf(byEvent)).toBe(200);
  const signed = await at.provider.sign(
    {
      jti: randomUUID(),
      aud: 'automation',
      sub_id: { format: 'iss_sub', iss: at.provider.issuer, sub: 'event' },
      events: { [DISABLED]: {} },
    },
    'secevent+jwt',
  );
  const pushed = await fetch(`${at.service.url}/sso/events/`, {
    method: 'POST',
    headers: { 'content-type': 'application/secevent+jwt' },
    body: signed,
  });
  expect(pushed.status).toBe(202);
  await at.refused(byEvent);

  await at.set('google-oauth2', { SOCIAL_AUTH_GOOGLE_OAUTH2_LOGOUT_REVOKES_TOKENS: true });
  const byLogout = await at.makeToken('logout');
  at.provider.disable('logout');
  await at.provider.logOut('automation', 'logout');
  await at.refused(byLogout);

  const byRevocation = await at.makeToken('revoke');
  at.provider.disable('revoke');
  const caller = await at.provider.sign({
    jti: randomUUID(),
    aud: 'automation',
    exp: Math.floor(Date.now() / 1000) + 60,
  });
  const revoked = await fetch(`${at.service.url}/sso/global-token-revocation/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${caller}` },
    body: JSON.stringify({ sub_id: { format: 'iss_sub', iss: at.provider.issuer, sub: 'revoke' } }),
  });
  expect(revoked.status).toBe(204);
  await at.refused(byRevocation);

  // The sweep asks the directory of the provider, which needs to tell no one.
  const bySweep = await at.makeToken('sweep');
  const active = new Map(['event', 'logout', 'revoke', 'sweep', 'stays'].map((name) => [name, true]));
  const directory = await providerServer((asked) => {
    const users = [...active].map(([userName, isActive]) => ({ id: userName, userName, active: isActive }));
    return scimAnswer(asked, users);
  });
  const home = db.home();
  const file = join(home.folder, '.config/tokenctl/tokenctl.yaml');
  const token = join(home.folder, 'scim-token');
  writeFileSync(token, 'hidden-scim-token\n', { mode: 0o600 });
  const staff = {
    kind: 'scim',
    url: `${directory.url.href}scim`,
    token: { file: token },
    accounts: ['google-oauth2'],
    stopAbovePercent: 50,
  };
  writeFileSync(file, `${readFileSync(file, 'utf8')}directories: ${JSON.stringify({ staff })}\n`);
  active.set('sweep', false);
  at.provider.disable('sweep');
  expect(await at.statusOf(bySweep)).toBe(200);
  const run = await home.run(['users', 'offboard', '--gone', 'staff', '--yes', '--json']);
  expect(run).toMatchObject({ code: 0, stderr: expect.stringContaining('sweep: active is false') });
  await at.refused(bySweep);
  expect(JSON.parse(run.stdout)).toMatchObject({ directory: { gone: [{ username: 'sweep' }] } });

  expect(await at.statusOf(kept)).toBe(200);
});

test.skipIf(NO_SLAPD !== null)(
  'whoever logs in at the provider and is disabled in its LDAP directory has no token here after the sweep',
  async () => {
    const at = await provider(['ldap-leaver', 'ldap-stays']);
    const slapd = await startSlapd([person('ldap-leaver'), person('ldap-stays')].join(''));
    onTestFinished(() => slapd.stop());
    const [leaving, kept] = [await at.makeToken('ldap-leaver'), await at.makeToken('ldap-stays')];
    const home = db.home();
    const file = join(home.folder, '.config/tokenctl/tokenctl.yaml');
    const password = join(home.folder, 'bind-password');
    writeFileSync(password, READER.password, { mode: 0o600 });
    const staff = {
      kind: 'ldap',
      url: slapd.secureUrl,
      caFile: slapd.ca,
      bindDn: READER.dn,
      bindPassword: { file: password },
      base: PEOPLE,
      accounts: ['google-oauth2'],
      stopAbovePercent: 50,
    };
    writeFileSync(file, `${readFileSync(file, 'utf8')}directories: ${JSON.stringify({ staff })}\n`);
    const sweep = () => home.run(['users', 'offboard', '--gone', 'staff', '--yes', '--json']);
    expect(await sweep()).toMatchObject({ code: 0, stdout: expect.stringContaining('"gone": []') });

    at.provider.disable('ldap-leaver');
    await slapd.admin.modify(`uid=ldap-leaver,${PEOPLE}`, [
      new Change({
        operation: 'replace',
        modification: new Attribute({ type: 'pwdAccountLockedTime', values: ['000001010000Z'] }),
      }),
    ]);
    expect(await at.statusOf(leaving)).toBe(200);
    const run = await sweep();
    expect(run).toMatchObject({ code: 0 });
    await at.refused(leaving);
    expect(JSON.parse(run.stdout).directory.gone).toMatchObject([
      { username: 'ldap-leaver', evidence: expect.stringContaining('pwdAccountLockedTime') },
    ]);
    expect([await at.statusOf(leaving), await at.statusOf(kept)]).toEqual([401, 200]);
  },
);
