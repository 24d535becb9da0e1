import assert from 'node:assert/strict';
import { join } from 'node:path';
import { closedWays, offeredWays, ofOffered, tryAccess } from '../access.ts';
import { homeOf } from '../home.ts';
import type { Installation } from '../installation.ts';
import { consent, DATABASE } from '../needs.ts';
import { makeUser } from '../own-objects.ts';
import { expectStatus } from '../requests.ts';
import { type AcceptanceSuite, scene } from '../scene.ts';
import { changes, counts, tableNames, tablesOf } from '../tables.ts';

const homeInDatabase = (it: Installation) => homeOf(it, { current: 'db' });

/** The ways in that a deactivated user has no more, besides those that a revocation ends. */
const BY_DEACTIVATION = ['basic', 'login', 'password'] as const;
const CREDENTIALS = ['application', 'code', 'personal', 'refresh', 'session'] as const;

/** What revocations, offboardings and lockdowns do in the database. */
export const inTheDatabase: AcceptanceSuite = {
  name: 'In the database',
  needs: [DATABASE],
  scenarios: [
    {
      name: 'tokens create makes a token for any user that works',
      run: async (it) => {
        const account = await makeUser(it, 'db-create');
        const [before, { folder, run }] = [await tablesOf(it), homeInDatabase(it)];
        const file = join(folder, 'new.token');
        const args = ['tokens', 'create', '--user', account.name, '--scope', 'write', '--yes'];
        assert.equal((await run(...args, '--output', file)).code, 0);
        const token = it.keepFile(file);
        const found = changes(before, await tablesOf(it));
        const { access } = tableNames(it);
        assert.deepEqual(counts(found), { [access]: [1, 0, 0] });
        assert.equal(found[access]?.added[0]?.['user_id'], account.id);
        expectStatus(await it.request('me/', { token }), 200);
      },
    },
    {
      name: 'tokens revoke of a user ends tokens, refresh tokens and codes, and nothing of others',
      run: async (it) => {
        const { account, access, tokenIds, listed, changed } = await scene(it, 'db-revoke');
        const { code } = await homeInDatabase(it).run('tokens', 'revoke', '--user', account.name, '--yes');
        assert.equal(code, 0);
        assert.deepEqual(await listed(), { gone: tokenIds, made: [] });
        const { access: tokens, refresh } = tableNames(it);
        const found = await changed();
        assert.ok(found[tokens]?.removed.every((row) => row['user_id'] === account.id));
        const refreshed = found[refresh]?.changed ?? [];
        assert.ok(refreshed.every(({ row }) => row['user_id'] === account.id));
        assert.deepEqual(
          refreshed.map(({ columns }) => columns['revoked']?.[0] === null && columns['revoked'][1] !== null),
          refreshed.map(() => true),
        );
        const ended = ofOffered(it, 'application', 'code', 'personal', 'refresh');
        assert.deepEqual(await closedWays(it, access), ended);
      },
    },
    {
      name: 'a second revocation changes nothing',
      run: async (it) => {
        const { account, changed } = await scene(it, 'db-twice');
        const home = homeInDatabase(it);
        const revoke = ['tokens', 'revoke', '--user', account.name, '--yes'];
        assert.equal((await home.run(...revoke)).code, 0);
        const once = counts(await changed());
        assert.equal((await home.run(...revoke)).code, 0);
        assert.deepEqual(counts(await changed()), once);
      },
    },
    {
      name: 'a dry run changes nothing',
      run: async (it) => {
        const { account, access, changed } = await scene(it, 'db-dry');
        const home = homeInDatabase(it);
        await home.run('tokens', 'revoke', '--user', account.name, '--dry-run');
        await home.run('incident', 'lockdown', '--user', account.name, '--deactivate', '--dry-run');
        await home.run('users', 'offboard', account.name, '--dry-run');
        await home.run('sessions', 'expire', '--user', account.name, '--dry-run');
        assert.deepEqual(await changed(), {});
        assert.deepEqual(await closedWays(it, access), []);
      },
    },
    {
      name: '--access-only leaves a refresh token that is listed as orphaned',
      run: async (it) => {
        const { account, access, changed } = await scene(it, 'db-access');
        const home = homeInDatabase(it);
        const revoke = ['tokens', 'revoke', '--user', account.name, '--access-only', '--yes'];
        assert.equal((await home.run(...revoke)).code, 0);
        const columns = (await changed())[tableNames(it).refresh]?.changed.map((row) =>
          Object.keys(row.columns),
        );
        if (access.refresh === null) return;
        assert.deepEqual(columns, [['access_token_id']]);
        const { body } = await home.json<{ state: string }[]>(
          'refresh-tokens',
          'list',
          '--user',
          account.name,
        );
        assert.deepEqual(
          body.map(({ state }) => state),
          ['orphaned'],
        );
        // Every controller and gateway that was tried refuses it. One that accepts it is worth knowing.
        const { refresh } = await tryAccess(it, access);
        assert.ok((refresh ?? 0) >= 400, `the orphaned refresh token was accepted: ${refresh}`);
        assert.equal((await home.run('tokens', 'revoke', '--user', account.name, '--yes')).code, 0);
        return `The orphaned refresh token was answered with ${refresh}.`;
      },
    },
    {
      name: 'users offboard closes every way in, of that user alone',
      run: async (it) => {
        const { account, access, changed } = await scene(it, 'db-offboard');
        const { code } = await homeInDatabase(it).run('users', 'offboard', account.name, '--yes');
        assert.equal(code, 0);
        const users = (await changed())[tableNames(it).user]?.changed ?? [];
        assert.deepEqual(
          users.map(({ row, columns }) => [row['id'], columns['is_active']]),
          [[account.id, [true, false]]],
        );
        const closed = await closedWays(it, access);
        const expected = ofOffered(it, ...CREDENTIALS, ...BY_DEACTIVATION);
        assert.deepEqual(closed, expected);
        assert.deepEqual(expected, [...(offeredWays(it) ?? [])].sort());
      },
    },
    {
      name: 'a lockdown with --deactivate closes every way in, and lift restores the user alone',
      run: async (it) => {
        const { account, access, tokenIds, changed, listed } = await scene(it, 'db-lockdown');
        const { json, run } = homeInDatabase(it);
        const { body } = await json<{ incident: string }>(
          ...['incident', 'lockdown', '--user', account.name, '--deactivate', '--yes'],
        );
        assert.deepEqual(await closedWays(it, access), ofOffered(it, ...CREDENTIALS, ...BY_DEACTIVATION));
        assert.equal((await run('incident', 'lift', body.incident, '--yes')).code, 0);
        assert.equal((await changed())[tableNames(it).user], undefined);
        assert.deepEqual(await listed(), { gone: tokenIds, made: [] });
        const closed = await closedWays(it, access);
        for (const way of ofOffered(it, 'application', 'personal', 'refresh')) {
          assert.ok(closed.includes(way), `${way} is open again`);
        }
        for (const way of ofOffered(it, ...BY_DEACTIVATION)) {
          assert.ok(!closed.includes(way), `${way} is still closed`);
        }
      },
    },
    {
      name: 'tokens cleanup deletes expired tokens, and no others',
      needs: [consent('expiredTokens')],
      run: async (it) => {
        const { account, tokenIds } = await scene(it, 'db-cleanup');
        const { access: table } = tableNames(it);
        // The personal token, which has no refresh token.
        const expired = Math.max(...tokenIds);
        await it.sql(
          `UPDATE ${table} SET expires = now() - interval '40 days' WHERE id = $1 AND user_id = $2`,
          [expired, account.id],
        );
        const before = await tablesOf(it);
        assert.equal((await homeInDatabase(it).run('tokens', 'cleanup', '--yes')).code, 0);
        const removed = changes(before, await tablesOf(it))[table]?.removed ?? [];
        assert.ok(removed.some((row) => row['id'] === expired));
        for (const row of removed) assert.ok(Date.parse(String(row['expires'])) < Date.now());
      },
    },
  ],
};
