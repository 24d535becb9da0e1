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
    expect(run.stdout).toContain('Not verified: none is left in the database');
    expect(run.stdout).toMatch(/until \d{4}-\d\d-\d\dT\d\d:\d\dZ/);
    expect(run.stdout).not.toContain('Verified:');
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
