import assert from 'node:assert/strict';
import { homeOf } from '../home.ts';
import type { Installation } from '../installation.ts';
import { CACHE, DATABASE, GATEWAY } from '../needs.ts';
import { makeUser } from '../own-objects.ts';
import type { Report } from '../reports.ts';
import type { AcceptanceSuite } from '../scene.ts';

/** A session of a new user, and what the gateway answers its requests with. */
async function session(it: Installation, own: string) {
  const account = await makeUser(it, own);
  const cookies = await it.logIn(account);
  if (cookies === null) throw new Error('the gateway refuses the login of a new user');
  return { account, status: async () => (await it.request('me/', cookies)).status };
}

const sessionsOf = ({ accessPaths }: Report) => accessPaths.find(({ path }) => path === 'sessions')?.state;

/** Sessions of a gateway, which its session cache accepts without the database. */
export const gatewaySessions: AcceptanceSuite = {
  name: 'Sessions of a gateway',
  needs: [GATEWAY, DATABASE],
  scenarios: [
    {
      name: 'without the cache are not said to have ended while they go on',
      run: async (it) => {
        const { account, status } = await session(it, 'cached');
        assert.equal(await status(), 200);
        const { run, json } = homeOf(it, { current: 'db', cached: false });
        const expired = await run('sessions', 'expire', '--user', account.name, '--yes');
        assert.equal(expired.code, 5);
        assert.doesNotMatch(expired.stdout, /Verified:/);
        const lockdown = ['incident', 'lockdown', '--user', account.name, '--yes'];
        const { body } = await json<Report>(...lockdown);
        assert.equal(sessionsOf(body), 'not_checked');
        return `After its row was deleted, the session was answered with ${await status()}.`;
      },
    },
    {
      name: 'end with the deactivation of their user, without the cache as well',
      run: async (it) => {
        const { account, status } = await session(it, 'deactivated');
        const { json } = homeOf(it, { current: 'db', cached: false });
        const { body } = await json<Report>('users', 'offboard', account.name, '--yes');
        assert.equal(sessionsOf(body), 'closed');
        assert.ok((await status()) >= 300);
      },
    },
    {
      name: 'end at once with the cache, of one user and of no other',
      needs: [CACHE],
      run: async (it) => {
        const [one, other] = [await session(it, 'expired'), await session(it, 'not-expired')];
        const { run } = homeOf(it, { current: 'db' });
        const expired = await run('sessions', 'expire', '--user', one.account.name, '--yes');
        assert.deepEqual([await one.status(), await other.status(), expired.code], [401, 200, 0]);
      },
    },
    {
      name: 'are closed by a lockdown with the cache, which says so',
      needs: [CACHE],
      run: async (it) => {
        const { account, status } = await session(it, 'locked-with-cache');
        const { json } = homeOf(it, { current: 'db' });
        const { body } = await json<Report>('incident', 'lockdown', '--user', account.name, '--yes');
        assert.deepEqual([sessionsOf(body), await status()], ['closed', 401]);
      },
    },
    {
      name: 'are verified by tokens revoke --with-sessions only with the cache',
      needs: [CACHE],
      run: async (it) => {
        const { account, status } = await session(it, 'revoked-with-cache');
        const revoke = ['tokens', 'revoke', '--user', account.name, '--with-sessions', '--yes'];
        const without = await homeOf(it, { current: 'db', cached: false }).json<{ verified: boolean }>(
          ...revoke,
        );
        assert.deepEqual([without.code, without.body.verified], [5, false]);
        const ended = await homeOf(it, { current: 'db' }).json<{ verified: boolean }>(...revoke);
        assert.deepEqual([ended.code, ended.body.verified, await status()], [0, true, 401]);
      },
    },
  ],
};
