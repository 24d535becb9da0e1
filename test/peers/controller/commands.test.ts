import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Access, makeAccess, makeUser, openWays, tryAccess, type WayIn } from '../access.ts';
import { homeOf } from '../home.ts';
import { changes, describePeer, type Peer, type TableChange } from '../peer.ts';

const ACCESS = 'main_oauth2accesstoken';
const REFRESH = 'oauth2_provider_refreshtoken';
const ACTIVITY = 'main_activitystream';
const LINKS = 'main_activitystream_o_auth2_access_token';

/** What tokenctl's own requests change: its token's last use. */
const OWN_USE = [`${ACCESS}.last_used`, `${ACCESS}.modified`];

const count = (change: TableChange | undefined) => ({
  added: change?.added.length ?? 0,
  removed: change?.removed.length ?? 0,
  changed: change?.changed.length ?? 0,
});

/** How many rows each table gained, lost and kept with other values. */
const counts = (found: Readonly<Record<string, TableChange>>) =>
  Object.fromEntries(Object.entries(found).map(([table, change]) => [table, count(change)]));

/** A user of a test's own with access of every kind, and what a command changed. */
async function scene(peer: Peer, user: string) {
  const id = await makeUser(peer, user);
  const access = await makeAccess(peer, user);
  const before = await peer.tables();
  return {
    id,
    access,
    changed: async () => changes(before, await peer.tables(), OWN_USE),
  };
}

async function idOf(peer: Peer, token: string | null): Promise<number> {
  const [row] = await peer.sql<{ id: string }>(`SELECT id FROM ${ACCESS} WHERE token = $1`, [token]);
  return Number(row?.id);
}

/** The ways in that were closed meanwhile, all others being open. */
async function closedWays(peer: Peer, access: Access): Promise<WayIn[]> {
  const tried = await tryAccess(peer, access);
  const open = new Set(openWays(tried));
  return (Object.keys(tried) as WayIn[]).filter((way) => !open.has(way)).sort();
}

describePeer('awx', 'commands', (peer) => {
  test('every way in is open to a user, and using it changes tables', async () => {
    const { access, changed } = await scene(peer(), 'everyway');
    expect(await closedWays(peer(), access)).toEqual([]);
    const found = await changed();
    expect(count(found[ACCESS])).toEqual({ added: 3, removed: 1, changed: 0 });
    expect(count(found['oauth2_provider_grant'])).toEqual({ added: 0, removed: 1, changed: 0 });
  });

  describe('over REST', () => {
    test('tokens create makes one token that works', async () => {
      const home = homeOf(peer());
      const file = join(home.folder, 'new.token');
      const before = await peer().tables();
      expect(await home.run('tokens', 'create', '--scope', 'read', '--yes', '--output', file)).toMatchObject({
        code: 0,
      });
      const found = changes(before, await peer().tables(), OWN_USE);
      expect(counts(found)).toEqual({
        [ACCESS]: { added: 1, removed: 0, changed: 0 },
        [ACTIVITY]: { added: 1, removed: 0, changed: 0 },
        [LINKS]: { added: 1, removed: 0, changed: 0 },
      });
      const token = readFileSync(file, 'utf8').trim();
      expect(await peer().request(`${peer().api}me/`, { token })).toMatchObject({ status: 200 });
    });

    test('tokens revoke --id removes that token alone', async () => {
      const { access, changed } = await scene(peer(), 'rest-id');
      const id = await idOf(peer(), access.personal);
      expect(await homeOf(peer()).run('tokens', 'revoke', '--id', `${id}`, '--yes')).toMatchObject({
        code: 0,
      });
      const found = await changed();
      expect(found[ACCESS]?.removed).toEqual([expect.objectContaining({ id })]);
      expect(counts(found)).toEqual({
        [ACCESS]: { added: 0, removed: 1, changed: 0 },
        [ACTIVITY]: { added: 1, removed: 0, changed: 0 },
        [LINKS]: { added: 0, removed: 1, changed: 0 },
      });
      expect(await closedWays(peer(), access)).toEqual(['personal']);
    });

    test.each([
      ['tokens revoke', ['tokens', 'revoke', '--yes', '--user']],
      ['revoke_oauth2_tokens', ['revoke_oauth2_tokens', '--user']],
    ])('%s of a user removes the access tokens, and leaves an orphan that is refused', async (name, args) => {
      const user = `rest-${name.replace(' ', '-')}`;
      const { id, access, changed } = await scene(peer(), user);
      await homeOf(peer()).run(...args, user);
      const found = await changed();
      expect(found[ACCESS]?.removed.map((row) => row['user_id'])).toEqual([id, id]);
      expect(found[REFRESH]).toMatchObject({
        added: [],
        removed: [],
        changed: [{ columns: { access_token_id: [expect.anything(), null] } }],
      });
      expect(await closedWays(peer(), access)).toEqual(['application', 'personal', 'refresh']);
    });

    test('settings basic-auth off and on change one setting, and Basic with it', async () => {
      const home = homeOf(peer());
      const before = await peer().tables();
      const basic = async () => (await peer().request(`${peer().api}me/`, { user: 'alice' })).status;
      try {
        expect(await home.run('settings', 'basic-auth', 'off', '--yes')).toMatchObject({ code: 0 });
        await expect.poll(basic, { timeout: 70_000, interval: 1000 }).toBe(401);
        const found = changes(before, await peer().tables(), OWN_USE);
        expect(found['conf_setting']?.added).toEqual([
          expect.objectContaining({ key: 'AUTH_BASIC_ENABLED', value: false }),
        ]);
        expect(Object.keys(found).sort()).toEqual(['conf_setting', ACTIVITY]);
      } finally {
        await home.run('settings', 'basic-auth', 'on', '--yes');
      }
      await expect.poll(basic, { timeout: 70_000, interval: 1000 }).toBe(200);
    });

    test('settings token-lifetime keeps the lifetimes that are not given', async () => {
      const home = homeOf(peer());
      const before = await home.json<{ lifetimes: Record<string, number> }>('settings', 'token-lifetime');
      expect(await home.run('settings', 'token-lifetime', '--access', '30d', '--yes')).toMatchObject({
        code: 0,
      });
      const answer = await peer().request(`${peer().api}settings/authentication/`, { user: 'admin' });
      expect(answer.body['OAUTH2_PROVIDER']).toEqual({
        ...before.body.lifetimes,
        ACCESS_TOKEN_EXPIRE_SECONDS: 2_592_000,
      });
      await home.run(
        'settings',
        'token-lifetime',
        '--access',
        `${before.body.lifetimes['ACCESS_TOKEN_EXPIRE_SECONDS']}`,
        '--yes',
      );
    });

    test('a second revocation changes nothing', async () => {
      const { changed } = await scene(peer(), 'rest-twice');
      const home = homeOf(peer());
      await home.run('tokens', 'revoke', '--user', 'rest-twice', '--yes');
      const once = counts(await changed());
      expect(await home.run('tokens', 'revoke', '--user', 'rest-twice', '--yes')).toMatchObject({ code: 0 });
      expect(counts(await changed())).toEqual(once);
    });

    test('a dry run changes nothing', async () => {
      const { access, changed } = await scene(peer(), 'rest-dry');
      const home = homeOf(peer());
      await home.run('tokens', 'revoke', '--user', 'rest-dry', '--dry-run');
      await home.run('incident', 'lockdown', '--user', 'rest-dry', '--dry-run');
      await home.run('users', 'offboard', 'rest-dry', '--dry-run');
      expect(await changed()).toEqual({});
      expect(await closedWays(peer(), access)).toEqual([]);
    });
  });

  describe('in the database', () => {
    const home = () => homeOf(peer(), { current: 'db' });

    test('tokens create makes a token for any user that works', async () => {
      const id = await makeUser(peer(), 'db-create');
      const before = await peer().tables();
      const { folder, run } = home();
      const file = join(folder, 'new.token');
      expect(
        await run('tokens', 'create', '--user', 'db-create', '--scope', 'write', '--yes', '--output', file),
      ).toMatchObject({ code: 0 });
      const found = changes(before, await peer().tables());
      expect(found[ACCESS]?.added).toEqual([expect.objectContaining({ user_id: id, scope: 'write' })]);
      expect(Object.keys(found).sort()).toEqual([ACTIVITY, LINKS, ACCESS].sort());
      const token = readFileSync(file, 'utf8').trim();
      expect(await peer().request(`${peer().api}me/`, { token })).toMatchObject({ status: 200 });
    });

    test('tokens revoke of a user ends the pair, and the sessions with --with-sessions', async () => {
      const { id, access, changed } = await scene(peer(), 'db-revoke');
      expect(
        await home().run('tokens', 'revoke', '--user', 'db-revoke', '--with-sessions', '--yes'),
      ).toMatchObject({ code: 0 });
      const found = await changed();
      expect(found[ACCESS]?.removed.map((row) => row['user_id'])).toEqual([id, id]);
      expect(found[REFRESH]?.changed).toEqual([
        {
          row: expect.objectContaining({ user_id: id }),
          columns: expect.objectContaining({ revoked: [null, expect.any(String)] }),
        },
      ]);
      expect(count(found['django_session'])).toEqual({ added: 0, removed: 1, changed: 0 });
      expect(found['main_usersessionmembership']?.removed).toEqual([
        expect.objectContaining({ user_id: id }),
      ]);
      expect(await closedWays(peer(), access)).toEqual(
        expect.arrayContaining(['application', 'personal', 'refresh', 'session']),
      );
    });

    test('--access-only leaves a live refresh token that mints nothing on this version', async () => {
      const { access, changed } = await scene(peer(), 'db-access');
      expect(
        await home().run('tokens', 'revoke', '--user', 'db-access', '--access-only', '--yes'),
      ).toMatchObject({ code: 0 });
      const found = await changed();
      expect(found[REFRESH]?.changed.map(({ columns }) => Object.keys(columns))).toEqual([
        ['access_token_id'],
      ]);
      expect((await tryAccess(peer(), access)).refresh).toBe(500);
    });

    test('sessions expire ends the sessions of one user', async () => {
      const { id, access, changed } = await scene(peer(), 'db-sessions');
      expect(await home().run('sessions', 'expire', '--user', 'db-sessions', '--yes')).toMatchObject({
        code: 0,
      });
      const found = await changed();
      expect(found['main_usersessionmembership']?.removed).toEqual([
        expect.objectContaining({ user_id: id }),
      ]);
      expect(counts(found)).toEqual({
        django_session: { added: 0, removed: 1, changed: 0 },
        main_usersessionmembership: { added: 0, removed: 1, changed: 0 },
      });
      expect(await closedWays(peer(), access)).toEqual(['session']);
    });

    test('settings reach the workers within a minute', async () => {
      const before = await peer().tables();
      const { run } = home();
      const basic = async () => (await peer().request(`${peer().api}me/`, { user: 'alice' })).status;
      try {
        expect(await run('settings', 'basic-auth', 'off', '--yes')).toMatchObject({ code: 0 });
        expect(Object.keys(changes(before, await peer().tables())).sort()).toEqual([
          'conf_setting',
          ACTIVITY,
        ]);
        await expect.poll(basic, { timeout: 70_000, interval: 1000 }).toBe(401);
      } finally {
        await peer().sql(`DELETE FROM conf_setting WHERE key = 'AUTH_BASIC_ENABLED'`);
        await peer().reset();
      }
    });

    test('users offboard closes every way in', async () => {
      const { id, access, changed } = await scene(peer(), 'db-offboard');
      expect(await home().run('users', 'offboard', 'db-offboard', '--yes')).toMatchObject({ code: 0 });
      expect((await changed())['auth_user']?.changed).toEqual([
        { row: expect.objectContaining({ id }), columns: { is_active: [true, false] } },
      ]);
      expect(await closedWays(peer(), access)).toEqual(
        expect.arrayContaining([
          'application',
          'basic',
          'login',
          'password',
          'personal',
          'refresh',
          'session',
        ]),
      );
    });

    test('incident lockdown with --deactivate is what it says, and lift gives back the user alone', async () => {
      const { id, access, changed } = await scene(peer(), 'db-lockdown');
      const { json, run } = home();
      const { body } = await json<{ incident: string }>(
        'incident',
        'lockdown',
        '--user',
        'db-lockdown',
        '--deactivate',
        '--yes',
      );
      expect(await closedWays(peer(), access)).toEqual(
        expect.arrayContaining([
          'application',
          'basic',
          'login',
          'password',
          'personal',
          'refresh',
          'session',
        ]),
      );
      expect(await run('incident', 'lift', body.incident, '--yes')).toMatchObject({ code: 0 });
      const found = await changed();
      expect(found['auth_user']).toBeUndefined();
      expect(found[ACCESS]?.removed.map((row) => row['user_id'])).toEqual([id, id]);
      expect(await closedWays(peer(), access)).toEqual(
        expect.arrayContaining(['application', 'personal', 'refresh', 'session']),
      );
    });

    test('tokens cleanup removes only expired tokens', async () => {
      await peer().twin('to_clean');
      const { run } = homeOf(peer(), { database: peer().databaseUrl('owner', 'to_clean'), current: 'db' });
      const before = await peer().tables('to_clean');
      expect(await run('tokens', 'cleanup', '--yes')).toMatchObject({ code: 0 });
      const { [ACCESS]: access } = changes(before, await peer().tables('to_clean'));
      expect(count(access)).toEqual({ added: 0, removed: 4, changed: 0 });
      expect(access?.removed.every((row) => Date.parse(String(row['expires'])) < Date.now())).toBe(true);
    });
  });
});
