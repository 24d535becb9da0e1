import assert from 'node:assert/strict';
import { makeAccess } from '../access.ts';
import { type Home, homeOf } from '../home.ts';
import type { Installation } from '../installation.ts';
import { CONTROLLER, DATABASE } from '../needs.ts';
import { type Account, makeUser } from '../own-objects.ts';
import { expectStatus } from '../requests.ts';
import { type AcceptanceSuite, scene } from '../scene.ts';

/** What a report says only of what has been done and checked. */
const CLAIM = /locked down|verified|nothing to revoke|has ended/i;

/** The changes of a user's access that need more than an ordinary account. */
function changesOf(user: string): readonly (readonly string[])[] {
  return [
    ['incident', 'lockdown', '--user', user, '--yes'],
    ['users', 'offboard', user, '--yes'],
    ['tokens', 'revoke', '--user', user, '--yes'],
  ];
}

/** Runs each command, which has to be refused with this exit code and to claim nothing. */
async function expectRefused(
  home: Home,
  commands: readonly (readonly string[])[],
  code: number,
  says?: RegExp,
): Promise<void> {
  for (const command of commands) {
    const ended = await home.run(...command);
    assert.deepEqual([command.join(' '), ended.code], [command.join(' '), code], ended.stderr);
    assert.doesNotMatch(ended.stdout, CLAIM);
    if (says !== undefined) assert.match(ended.stderr, says);
  }
  const { body } = await home.json<{ incidents: unknown[] }>('incident', 'status');
  assert.deepEqual(body.incidents, []);
}

/** Makes an administrator of the run's organization. */
async function organizationAdministrator(it: Installation, own: string): Promise<Account> {
  const account = await makeUser(it, own);
  const path = `organizations/${it.organization}/admins/`;
  expectStatus(await it.request(path, it.admin, { body: { id: account.id } }), 204);
  return account;
}

/** Accounts that may not do it, each with the commands that have to be refused. */
const ACCOUNTS = [
  [
    'an auditor, who sees everything and may change nothing',
    (it: Installation) => makeUser(it, 'refused-auditor', { is_system_auditor: true }),
    changesOf,
  ],
  [
    'an administrator of an organization',
    (it: Installation) => organizationAdministrator(it, 'refused-org-admin'),
    (user: string) => changesOf(user).slice(0, 2),
  ],
  ['a normal user', (it: Installation) => makeUser(it, 'refused-normal'), changesOf],
] as const;

/** What is refused before anything is written. */
export const refusals: AcceptanceSuite = {
  name: 'Refusals',
  needs: [],
  scenarios: [
    ...ACCOUNTS.map(([who, make, commands], index) => ({
      name: `${who} is refused, and nothing changes`,
      needs: [CONTROLLER],
      run: async (it: Installation) => {
        const account = await make(it);
        const { account: other, listed, changed } = await scene(it, `not-by-others-${index}`);
        await expectRefused(homeOf(it, { account }), commands(other.name), 4);
        assert.deepEqual([await listed(), await changed()], [{ gone: [], made: [] }, {}]);
      },
    })),
    {
      name: 'an administrator of an organization revokes the tokens of its applications, and no more is said',
      needs: [CONTROLLER],
      run: async (it) => {
        const account = await organizationAdministrator(it, 'sees-in-part');
        const { account: other, access, listed } = await scene(it, 'seen-in-part');
        const revoke = ['tokens', 'revoke', '--user', other.name, '--yes'];
        const { code, stdout, stderr } = await homeOf(it, { account }).run(...revoke);
        const { gone } = await listed();
        assert.deepEqual([gone.length, code], [1, 5], stdout + stderr);
        expectStatus(await it.request('me/', { token: access.personal ?? '' }), 200);
        expectStatus(await it.request('me/', { token: access.application ?? '' }), 401);
        assert.ok(stdout.includes(`Not verified: ${account.name} can see only`), stdout);
        assert.doesNotMatch(stdout, /^verified|nothing to revoke|has ended/im);
      },
    },
    ...(['rest', 'db'] as const).map((current) => ({
      name: `an unknown user is refused before anything is written (${current === 'db' ? 'database' : 'REST'})`,
      needs: current === 'db' ? [DATABASE] : [],
      run: async (it: Installation) => {
        const home = homeOf(it, { current });
        await expectRefused(home, changesOf(it.name('nobody')), 2, /nobody/);
        const { stdout } = await home.run('log', 'list', '--raw', '--json');
        assert.deepEqual(JSON.parse(stdout || '[]'), []);
      },
    })),
    {
      name: 'a deleted account is refused',
      needs: [CONTROLLER],
      run: async (it) => {
        const account = await makeUser(it, 'deleted');
        const access = await makeAccess(it, account);
        await it.request(`users/${account.id}/`, it.admin, { method: 'DELETE' });
        assert.equal((await homeOf(it, { account }).run('whoami')).code, 4);
        expectStatus(await it.request('me/', { token: access.personal ?? '' }), 401);
      },
    },
  ],
};
