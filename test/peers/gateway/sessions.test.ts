import { expect, test } from 'vitest';
import { login } from '../access.ts';
import { homeOf } from '../home.ts';
import { describePeer, type Peer } from '../peer.ts';

/** Logs a user in, and gives a function that tries the cookie. */
async function session(peer: Peer, user: string): Promise<() => Promise<number>> {
  const cookie = (await login(peer, user)) ?? '';
  const attempt = async () => (await peer.request(`${peer.api}me/`, null, { headers: { cookie } })).status;
  expect(await attempt()).toBe(200);
  return attempt;
}

interface Offboarding {
  readonly accessPaths: readonly { readonly path: string; readonly state: string; readonly how: string }[];
}

describePeer('gateway', 'sessions that the gateway has cached', (peer) => {
  test('outlive their rows, and are not said to have ended', async () => {
    const home = homeOf(peer(), { current: 'db' });
    const attempt = await session(peer(), 'alice');
    const run = await home.run('sessions', 'expire', '--user', 'alice', '--yes');
    expect(await attempt()).toBe(200);
    expect(run.code).toBe(5);
    expect(run.stdout).toContain('Not verified. None is left in the database');
    expect(run.stdout).toMatch(/ends at \d{4}-\d\d-\d\dT\d\d:\d\dZ at the latest/);
    expect(run.stdout).not.toContain('Verified:');
    // Nothing is left to end, and still nothing is claimed.
    const again = await home.run('sessions', 'expire', '--user', 'alice', '--yes');
    expect(again).toMatchObject({ code: 5, stdout: expect.stringContaining('Not checked. None is left') });
    const revoke = ['tokens', 'revoke', '--user', 'alice', '--with-sessions', '--yes'];
    expect([(await home.run(...revoke)).code, (await home.run(...revoke)).code]).toEqual([5, 5]);
    const locked = await home.json<Offboarding>('incident', 'lockdown', '--user', 'alice', '--yes');
    expect(locked.body.accessPaths.find(({ path }) => path === 'sessions')?.state).toBe('not_checked');
  });

  test('end with the deactivation of their user', async () => {
    const home = homeOf(peer(), { current: 'db' });
    const attempt = await session(peer(), 'bob');
    const { body } = await home.json<Offboarding>('users', 'offboard', 'bob', '--yes');
    expect(body.accessPaths.find(({ path }) => path === 'sessions')?.state).toBe('closed');
    expect(await attempt()).toBeGreaterThanOrEqual(300);
  });
});

describePeer('gateway-plain', 'sessions of a gateway that does not record their owners', (peer) => {
  test('are not said to have ended, with no time when they will', async () => {
    const home = homeOf(peer(), { current: 'db' });
    const attempt = await session(peer(), 'alice');
    const run = await home.run('sessions', 'expire', '--user', 'alice', '--yes');
    expect(run).toMatchObject({
      code: 5,
      stdout: expect.stringContaining('Sessions without a recorded owner'),
    });
    const { code, body } = await home.json<Offboarding>('incident', 'lockdown', '--user', 'alice', '--yes');
    const path = body.accessPaths.find((each) => each.path === 'sessions');
    expect([code, path?.state, path !== undefined && 'until' in path]).toEqual([5, 'not_checked', false]);
    expect(await attempt()).toBe(200);
  });

  test('end with the deactivation of their user', async () => {
    const attempt = await session(peer(), 'bob');
    const { body } = await homeOf(peer(), { current: 'db' }).json<Offboarding>(
      'users',
      'offboard',
      'bob',
      '--yes',
    );
    expect(body.accessPaths.find(({ path }) => path === 'sessions')?.state).toBe('closed');
    expect(await attempt()).toBeGreaterThanOrEqual(300);
  });
});
