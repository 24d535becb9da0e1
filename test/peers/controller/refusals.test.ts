import { expect, test } from 'vitest';
import { DOCUMENTED_GRANTS } from '../../support/documented-grants.ts';
import { makeAccess, makeUser } from '../access.ts';
import { homeOf } from '../home.ts';
import { changes, describePeer, type Peer } from '../peer.ts';

describePeer('awx', 'what is refused before anything is written', (peer) => {
  test('a role of the database that may not revoke is refused, and nothing changes', async () => {
    const database = await peer().role('role_may_read', DOCUMENTED_GRANTS.get('Reading') ?? []);
    const home = homeOf(peer(), { database, current: 'db' });
    const before = await peer().tables();
    for (const command of [
      ['incident', 'lockdown', '--user', 'robot', '--yes'],
      ['users', 'offboard', 'robot', '--yes'],
      ['tokens', 'revoke', '--user', 'robot', '--yes'],
    ]) {
      const { code, stdout, stderr } = await home.run(...command);
      expect([command.join(' '), code, stderr]).toEqual([
        command.join(' '),
        4,
        expect.stringMatching(/role.* lacks/),
      ]);
      expect(stdout).not.toMatch(/locked down|verified|nothing to revoke|has ended/i);
    }
    expect(changes(before, await peer().tables())).toEqual({});
    const { body } = await home.json<{ incidents: unknown[] }>('incident', 'status');
    expect(body.incidents).toEqual([]);
  });

  test.each([
    ['an auditor, who sees everything and may change nothing', async () => 'auditor'],
    ['an administrator of an organization', (it: Peer) => organizationAdministrator(it)],
    ['a normal user', async () => 'alice'],
  ])('%s is refused, and nothing changes', async (_who, account) => {
    const user = await account(peer());
    const isRevoking = user.startsWith('orgadmin');
    const before = await peer().tables();
    const home = homeOf(peer(), { user });
    for (const command of [
      ['incident', 'lockdown', '--user', 'robot', '--yes'],
      ['users', 'offboard', 'robot', '--yes'],
      ...(isRevoking ? [] : [['tokens', 'revoke', '--user', 'robot', '--yes']]),
    ]) {
      const { code, stdout } = await home.run(...command);
      expect([command.join(' '), code]).toEqual([command.join(' '), 4]);
      expect(stdout).not.toMatch(/locked down|verified|nothing to revoke|has ended/i);
    }
    const found = changes(before, await peer().tables(), ['main_oauth2accesstoken.last_used']);
    expect(found['main_oauth2accesstoken']).toBeUndefined();
    expect(found['auth_user']).toBeUndefined();
    const { json } = home;
    const { body } = await json<{ incidents: unknown[] }>('incident', 'status');
    expect(body.incidents).toEqual([]);
  });

  test('an administrator of an organization revokes the tokens of its applications, and no more is said', async () => {
    const user = await organizationAdministrator(peer());
    const id = await makeUser(peer(), 'seen-in-part');
    await makeAccess(peer(), 'seen-in-part');
    const before = await peer().tables();
    const { code, stdout } = await homeOf(peer(), { user }).run(
      ...['tokens', 'revoke', '--user', 'seen-in-part', '--yes'],
    );
    const found = changes(before, await peer().tables());
    const { removed = [] } = found['main_oauth2accesstoken'] ?? {};
    expect(removed.map((row) => [row['user_id'], row['application_id'] === null])).toEqual([[id, false]]);
    expect(code).toBe(5);
    expect(stdout).toContain(`Not verified: ${user} sees only`);
    expect(stdout).not.toMatch(/^verified|nothing to revoke|has ended/im);
  });

  test.each([['rest'], ['db']] as const)(
    'an unknown user is refused before anything is written (%s)',
    async (current) => {
      const home = homeOf(peer(), { current });
      for (const command of [
        ['incident', 'lockdown', '--user', 'alcie', '--yes'],
        ['users', 'offboard', 'alcie', '--yes'],
        ['tokens', 'revoke', '--user', 'alcie', '--yes'],
      ]) {
        const { code, stderr } = await home.run(...command);
        expect([command.join(' '), code, stderr]).toEqual([
          command.join(' '),
          2,
          expect.stringContaining('alcie'),
        ]);
      }
      const { stdout } = await home.run('log', 'list', '--raw', '--json');
      expect(JSON.parse(stdout || '[]')).toEqual([]);
    },
  );
});

/** Makes alice's organization administered by a user, and names the user. */
async function organizationAdministrator(peer: Peer): Promise<string> {
  const user = `orgadmin${Date.now()}`;
  const id = await makeUser(peer, user);
  const token = peer.fill.admintoken;
  const { body } = await peer.request(`${peer.api}organizations/?name=Eng`, { token });
  const [{ id: organization }] = body['results'] as [{ id: number }];
  const path = `${peer.api}organizations/${organization}/admins/`;
  const answer = await peer.request(path, { token }, { body: { id } });
  expect(answer.status).toBe(204);
  return user;
}
