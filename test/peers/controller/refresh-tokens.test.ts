import { setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { makeUser } from '../access.ts';
import { homeOf } from '../home.ts';
import { describePeer, type Peer } from '../peer.ts';

/** A worker of the controller reads changed settings again within this time, in milliseconds. */
const SETTINGS_HOLD_MS = 6000;

interface Listed {
  readonly id: number;
  readonly state: string;
  readonly expires: string | null;
}

describePeer('awx', 'states of refresh tokens', (peer) => {
  test('expired is what the controller refuses, and live again with a longer lifetime', async () => {
    const user = `refresher${Date.now()}`;
    await makeUser(peer(), user);
    const pair = await grant(peer(), {
      grant_type: 'password',
      username: user,
      password: `${user}pw`,
      scope: 'read',
    });
    const refresh = { grant_type: 'refresh_token', refresh_token: String(pair.body['refresh_token']) };
    await peer().sql(
      `UPDATE oauth2_provider_refreshtoken SET created = now() - interval '2 hours'
       WHERE user_id = (SELECT id FROM auth_user WHERE username = $1)`,
      [user],
    );
    const { json, run } = homeOf(peer(), { current: 'db' });
    const list = async (...args: string[]) =>
      (await json<Listed[]>('refresh-tokens', 'list', '--user', user, ...args)).body;

    await setLifetime(peer(), 3600);
    expect(await list()).toMatchObject([{ state: 'expired', expires: expect.any(String) }]);
    expect(await list('--state', 'live')).toEqual([]);
    expect((await grant(peer(), refresh)).status).toBe(403);

    await setLifetime(peer(), 10_800);
    expect(await list()).toMatchObject([{ state: 'live' }]);
    expect(await list('--state', 'expired')).toEqual([]);
    expect((await grant(peer(), refresh)).status).toBe(200);
    expect((await list()).map(({ state }) => state)).toEqual(['revoked', 'live']);

    // An expired one is revoked like any other: it would be live again with a longer lifetime.
    await setLifetime(peer(), 1);
    expect((await list('--state', 'expired')).length).toBe(1);
    expect((await run('tokens', 'revoke', '--user', user, '--yes')).code).toBe(0);
    expect((await list()).map(({ state }) => state)).toEqual(['revoked', 'revoked']);
  });

  test('a role that may not read the setting is told that expired ones are listed as live', async () => {
    const url = await peer().role('nosettings', [
      'GRANT SELECT ON ALL TABLES IN SCHEMA public TO ROLE',
      'REVOKE SELECT ON conf_setting FROM ROLE',
    ]);
    const { run } = homeOf(peer(), { current: 'db', database: url });
    const listed = await run('refresh-tokens', 'list', '--json');
    expect([listed.code, listed.stderr]).toEqual([
      0,
      expect.stringContaining('REFRESH_TOKEN_EXPIRE_SECONDS'),
    ]);
    expect((await run('refresh-tokens', 'list', '--state', 'expired')).code).toBe(4);
  });
});

async function grant(peer: Peer, form: Readonly<Record<string, string>>) {
  const client = peer.fill.applications['AppPwPub']?.client_id ?? '';
  return await peer.request(`${peer.oauth}token/`, null, { form: { ...form, client_id: client } });
}

/** Sets the lifetime of refresh tokens over REST, and waits until all workers know it. */
async function setLifetime(peer: Peer, seconds: number): Promise<void> {
  const lifetimes = {
    ACCESS_TOKEN_EXPIRE_SECONDS: 31_536_000_000,
    REFRESH_TOKEN_EXPIRE_SECONDS: seconds,
    AUTHORIZATION_CODE_EXPIRE_SECONDS: 600,
  };
  const answer = await peer.request(
    `${peer.api}settings/authentication/`,
    { token: peer.fill.admintoken },
    { method: 'PATCH', body: { OAUTH2_PROVIDER: lifetimes } },
  );
  expect(answer.status).toBe(200);
  await setTimeout(SETTINGS_HOLD_MS);
}
