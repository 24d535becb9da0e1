import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { NO_REDIS, type Redis, startRedis } from '../../support/redis.ts';
import { login } from '../access.ts';
import { homeOf } from '../home.ts';
import { describePeer } from '../peer.ts';

const PASSWORD = 'redis-password-of-a-test';

interface Paths {
  readonly accessPaths: readonly { readonly path: string; readonly state: string; readonly how: string }[];
}

describe.skipIf(NO_REDIS !== null)('a gateway that caches sessions in Redis', () => {
  let redis: Redis;
  beforeAll(async () => {
    redis = await startRedis(['--requirepass', PASSWORD], { cli: ['-a', PASSWORD] });
  });
  afterAll(() => redis.stop());

  describePeer('gateway', 'with its address in the context', (peer) => {
    const url = () => `redis://:${PASSWORD}@127.0.0.1:${redis.port}/4`;
    const cookieOf = async (user: string) => (await login(peer(), user)) ?? '';
    const status = async (cookie: string) =>
      (await peer().request(`${peer().api}me/`, null, { headers: { cookie } })).status;
    const sessionsOf = ({ accessPaths }: Paths) => accessPaths.find(({ path }) => path === 'sessions');
    const home = () => homeOf(peer(), { current: 'db', cache: url() });

    beforeAll(() => peer().cacheIn(url()));

    test('sessions expire ends sessions of one user at once, and of no other', async () => {
      const [alice, bob] = [await cookieOf('alice'), await cookieOf('bob')];
      expect([await status(alice), await status(bob)]).toEqual([200, 200]);
      const run = await home().run('sessions', 'expire', '--user', 'alice', '--yes');
      expect([await status(alice), await status(bob)]).toEqual([401, 200]);
      expect(run).toMatchObject({ code: 0, stdout: expect.stringContaining('Verified: none is listed') });
    });

    test('without it, a session whose row is deleted goes on, and with it is listed and ended', async () => {
      const cookie = await cookieOf('bob');
      const without = await homeOf(peer(), { current: 'db' }).run('sessions', 'expire', '--all', '--yes');
      expect(without).toMatchObject({ code: 5, stdout: expect.stringContaining('Not verified') });
      expect(await status(cookie)).toBe(200);
      const listed = await home().json<{ user: { username: string } }[]>('sessions', 'list', '--user', 'bob');
      expect(listed.body.map(({ user }) => user.username)).toContain('bob');
      expect(await home().run('sessions', 'expire', '--user', 'bob', '--yes')).toMatchObject({ code: 0 });
      expect(await status(cookie)).toBe(401);
    });

    test('a lockdown without deactivation closes sessions, and says so', async () => {
      const cookie = await cookieOf('alice');
      const locked = await home().json<Paths>('incident', 'lockdown', '--user', 'alice', '--yes');
      expect(await status(cookie)).toBe(401);
      expect(sessionsOf(locked.body)).toMatchObject({ state: 'closed' });
    });

    test('sessions without a recorded owner are those of the user whom the cache names', async () => {
      const [alice, bob] = [await cookieOf('alice'), await cookieOf('bob')];
      await peer().sql('DELETE FROM aap_gateway_api_usersessionmembership');
      const run = await home().run('sessions', 'expire', '--user', 'alice', '--yes');
      expect([await status(alice), await status(bob), run.code]).toEqual([401, 200, 0]);
    });

    test('tokens revoke --with-sessions is verified only with it', async () => {
      const args = ['tokens', 'revoke', '--user', 'dave', '--with-sessions', '--yes', '--json'];
      const first = await cookieOf('dave');
      const without = await homeOf(peer(), { current: 'db' }).json<{ verified: boolean }>(
        ...args.slice(0, -1),
      );
      expect([await status(first), without.code, without.body.verified]).toEqual([200, 5, false]);
      const second = await cookieOf('dave');
      const revoked = await home().json<{ verified: boolean }>(...args.slice(0, -1));
      expect([await status(first), await status(second), revoked.code, revoked.body.verified]).toEqual([
        401,
        401,
        0,
        true,
      ]);
    });

    test('a stopped cache is said, and nothing is claimed', async () => {
      const { run } = homeOf(peer(), { current: 'db', cache: 'redis://127.0.0.1:1/4' });
      const check = await run('context', 'check', 'db');
      expect(check.stdout).toContain('Warning:  The session cache at redis://127.0.0.1:1/4 cannot be read');
      const cookie = await cookieOf('erin');
      const expired = await run('sessions', 'expire', '--user', 'erin', '--yes');
      expect(expired).toMatchObject({ code: 5, stdout: expect.stringContaining('Not verified') });
      expect(await status(cookie)).toBe(200);
    });
  });

  describePeer('gateway-plain', 'that does not record the owners of sessions', (peer) => {
    test('ends those of one user, and says so', async () => {
      const url = `redis://:${PASSWORD}@127.0.0.1:${redis.port}/5`;
      await peer().cacheIn(url);
      const cookies = [(await login(peer(), 'alice')) ?? '', (await login(peer(), 'bob')) ?? ''];
      const statuses = () =>
        Promise.all(
          cookies.map(async (cookie) => {
            const answer = await peer().request(`${peer().api}me/`, null, { headers: { cookie } });
            return answer.status;
          }),
        );
      expect(await statuses()).toEqual([200, 200]);
      const args = ['incident', 'lockdown', '--user', 'alice', '--yes'];
      const { body } = await homeOf(peer(), { current: 'db', cache: url }).json<Paths>(...args);
      expect(await statuses()).toEqual([401, 200]);
      expect(body.accessPaths.find(({ path }) => path === 'sessions')).toMatchObject({ state: 'closed' });
    });
  });
});
