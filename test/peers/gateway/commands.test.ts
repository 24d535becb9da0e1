import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Access, makeAccess, makeUser, openWays, tryAccess, type WayIn } from '../access.ts';
import { homeOf } from '../home.ts';
import { changes, describePeer, type Peer, type TableChange } from '../peer.ts';

const ACCESS = 'dab_oauth2_provider_oauth2accesstoken';
const REFRESH = 'dab_oauth2_provider_oauth2refreshtoken';
const ACTIVITY = 'dab_activitystream_entry';
const PREFERENCE = 'aap_gateway_api_preference';
const USER = 'aap_gateway_api_user';

/** What the requests of tokenctl and of the tests change by themselves. */
const OWN_USE = [`${ACCESS}.last_used`, `${ACCESS}.modified`, `${ACCESS}.scope`, `${ACCESS}.modified_by_id`];

const counts = (found: Readonly<Record<string, TableChange>>) =>
  Object.fromEntries(
    Object.entries(found).map(([table, { added, removed, changed }]) => [
      table,
      [added.length, removed.length, changed.length],
    ]),
  );

/** A user of a test's own with access of every kind, and what a command changed. */
async function scene(peer: Peer, user: string) {
  const id = await makeUser(peer, user);
  const access = await makeAccess(peer, user);
  const before = await peer.tables();
  return { id, access, changed: async () => changes(before, await peer.tables(), OWN_USE) };
}

async function closedWays(peer: Peer, access: Access): Promise<WayIn[]> {
  const tried = await tryAccess(peer, access);
  const open = new Set(openWays(tried));
  return (Object.keys(tried) as WayIn[]).filter((way) => !open.has(way)).sort();
}

/** What a report says of the ways in: `closed`, `open` or `not_checked` by path. */
interface Report {
  readonly incident?: string;
  readonly accessPaths: readonly {
    readonly path: string;
    readonly state: string;
    readonly covered: boolean;
  }[];
}

const statesOf = ({ accessPaths }: Report) =>
  Object.fromEntries(accessPaths.filter(({ covered }) => covered).map(({ path, state }) => [path, state]));

describe.each(['gateway', 'gateway-plain'] as const)('commands on a %s', (kind) => {
  describePeer(kind, 'over REST', (peer) => {
    test('every way in is open to a user', async () => {
      const { access } = await scene(peer(), 'everyway');
      expect(await closedWays(peer(), access)).toEqual([]);
    });

    test('tokens create makes one token that works', async () => {
      const home = homeOf(peer());
      const file = join(home.folder, 'new.token');
      const before = await peer().tables();
      const args = ['tokens', 'create', '--scope', 'read', '--yes', '--output', file];
      expect(await home.run(...args)).toMatchObject({ code: 0 });
      const found = changes(before, await peer().tables(), [...OWN_USE, ACTIVITY]);
      expect(counts(found)).toEqual({ [ACCESS]: [1, 0, 0] });
      const token = readFileSync(file, 'utf8').trim();
      expect(await peer().request(`${peer().api}me/`, { token })).toMatchObject({ status: 200 });
    });

    test('tokens revoke of a user removes the access tokens alone', async () => {
      const { id, access, changed } = await scene(peer(), 'rest-revoke');
      await homeOf(peer()).run('tokens', 'revoke', '--user', 'rest-revoke', '--yes');
      const found = await changed();
      expect(found[ACCESS]?.removed.map((row) => row['user_id'])).toEqual([id, id]);
      expect(found[REFRESH]?.changed).toMatchObject([
        { columns: { access_token_id: [expect.anything(), null] } },
      ]);
      expect(await closedWays(peer(), access)).toEqual(['application', 'personal', 'refresh']);
    });

    test('a lockdown says of no way in that it is closed while it is open', async () => {
      const { access } = await scene(peer(), 'rest-lockdown');
      const { code, body } = await homeOf(peer()).json<Report>(
        ...['incident', 'lockdown', '--user', 'rest-lockdown', '--yes'],
      );
      expect(code).toBe(5);
      expect(statesOf(body)).toMatchObject({
        ...{ access_tokens: 'closed', refresh_tokens: 'not_checked' },
        ...{ authorization_codes: 'not_checked', sessions: 'not_checked' },
      });
      expect(await closedWays(peer(), access)).toEqual(['application', 'personal', 'refresh']);
    });

    test('settings basic-auth off and on change one preference, and Basic with it', async () => {
      const home = homeOf(peer());
      const before = await peer().tables();
      const basic = async () => (await peer().request(`${peer().api}me/`, { user: 'alice' })).status;
      expect(await home.run('settings', 'basic-auth', 'off', '--yes')).toMatchObject({ code: 0 });
      expect(await basic()).toBe(401);
      expect(await home.run('settings', 'basic-auth', 'on', '--yes')).toMatchObject({ code: 0 });
      expect(await basic()).toBe(200);
      // Basic authentication notes the login with its authenticator.
      const own = [...OWN_USE, ACTIVITY, 'dab_authentication_authenticatoruser'];
      const found = changes(before, await peer().tables(), own);
      expect(Object.keys(found).filter((table) => table !== PREFERENCE)).toEqual([]);
    });

    test('a dry run changes nothing', async () => {
      const { access, changed } = await scene(peer(), 'rest-dry');
      const home = homeOf(peer());
      await home.run('tokens', 'revoke', '--user', 'rest-dry', '--dry-run');
      await home.run('incident', 'lockdown', '--user', 'rest-dry', '--dry-run');
      await home.run('users', 'offboard', 'rest-dry', '--dry-run');
      const { [ACTIVITY]: _own, ...others } = await changed();
      expect(others).toEqual({});
      expect(await closedWays(peer(), access)).toEqual([]);
    });

    describe('and in the database', () => {
      const home = () => homeOf(peer(), { current: 'db' });

      test('tokens revoke of a user ends the pair and the code', async () => {
        const { id, access, changed } = await scene(peer(), 'db-revoke');
        expect(await home().run('tokens', 'revoke', '--user', 'db-revoke', '--yes')).toMatchObject({
          code: 0,
        });
        const found = await changed();
        expect(found[ACCESS]?.removed.map((row) => row['user_id'])).toEqual([id, id]);
        expect(found[REFRESH]?.changed).toMatchObject([{ columns: { revoked: [null, expect.any(String)] } }]);
        expect(counts(found)['oauth2_provider_grant']).toEqual([0, 1, 0]);
        expect(new Set(found[ACTIVITY]?.added.map((row) => row['created_by_id']))).toEqual(new Set([1]));
        expect(await closedWays(peer(), access)).toEqual(['application', 'code', 'personal', 'refresh']);
      });

      test('a second revocation changes nothing', async () => {
        const { changed } = await scene(peer(), 'db-twice');
        await home().run('tokens', 'revoke', '--user', 'db-twice', '--yes');
        const once = counts(await changed());
        expect(await home().run('tokens', 'revoke', '--user', 'db-twice', '--yes')).toMatchObject({
          code: 0,
        });
        expect(counts(await changed())).toEqual(once);
      });

      test('users offboard closes every way in, and says so', async () => {
        const { id, access, changed } = await scene(peer(), 'db-offboard');
        const { body } = await home().json<Report>('users', 'offboard', 'db-offboard', '--yes');
        expect((await changed())[USER]?.changed).toMatchObject([
          { row: { id }, columns: { is_active: [true, false] } },
        ]);
        expect(statesOf(body)).toMatchObject({
          ...{ access_tokens: 'closed', refresh_tokens: 'closed', authorization_codes: 'closed' },
          ...{ users: 'closed', sessions: 'closed' },
        });
        expect(await closedWays(peer(), access)).toEqual(
          ['application', 'basic', 'code', 'login', 'password', 'personal', 'refresh', 'session'].sort(),
        );
      });

      test('a lockdown without the cache does not say that sessions have ended; lift gives back the user', async () => {
        const { access } = await scene(peer(), 'db-lockdown');
        const { json, run } = home();
        const { code, body } = await json<Report>('incident', 'lockdown', '--user', 'db-lockdown', '--yes');
        expect(code).toBe(5);
        expect(statesOf(body)).toMatchObject({
          ...{ access_tokens: 'closed', refresh_tokens: 'closed', authorization_codes: 'closed' },
          sessions: 'not_checked',
        });
        expect(await closedWays(peer(), access)).toEqual(['application', 'code', 'personal', 'refresh']);
        expect(await run('incident', 'lift', body.incident ?? '', '--yes')).toMatchObject({ code: 0 });
      });

      test('tokens cleanup removes only expired tokens', async () => {
        const before = await peer().tables();
        expect(await home().run('tokens', 'cleanup', '--yes')).toMatchObject({ code: 0 });
        const removed = changes(before, await peer().tables())[ACCESS]?.removed ?? [];
        expect(removed.length).toBeGreaterThan(0);
        expect(removed.every((row) => Date.parse(String(row['expires'])) < Date.now())).toBe(true);
      });
    });
  });
});
