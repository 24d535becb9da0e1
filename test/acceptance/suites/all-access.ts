import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Access, makeAccess } from '../access.ts';
import { homeOf } from '../home.ts';
import type { Installation } from '../installation.ts';
import { consent, DATABASE, PASSWORD } from '../needs.ts';
import { AUTHENTICATION, makeUser, withSettings } from '../own-objects.ts';
import { expectAsSaid, expectClosed, type Report } from '../reports.ts';
import type { AcceptanceSuite } from '../scene.ts';
import { changes, tableNames, tablesOf } from '../tables.ts';

/** Locks everyone down, tries the ways in of two users, and lifts the lockdown. */
async function lockDownAll(it: Installation, current: 'rest' | 'db', flags: readonly string[]) {
  const users = [await makeUser(it, `all-${current}-1`), await makeUser(it, `all-${current}-2`)];
  const accesses: Access[] = [];
  for (const user of users) accesses.push(await makeAccess(it, user));
  const before = it.database === null ? null : await tablesOf(it);
  const { folder, json, run } = homeOf(it, { current });
  const lockDown = async () => {
    const { body } = await json<Report>('incident', 'lockdown', '--all', '--yes', ...flags);
    // The token of this run has ended as well: a new one is made, with the password.
    await it.makeAdminToken();
    writeFileSync(join(folder, 'rest.token'), `${it.admin.token}\n`, { mode: 0o600 });
    try {
      expectClosed(it, body, 'personal', 'application');
      for (const access of accesses) await expectAsSaid(it, access, body);
    } finally {
      const lifted = await run('incident', 'lift', body.incident ?? '', '--yes');
      assert.equal(lifted.code, 0, lifted.stderr);
    }
    if (before === null) return;
    // Everyone is as active as before.
    const found = changes(before, await tablesOf(it))[tableNames(it).user]?.changed ?? [];
    assert.deepEqual(
      found.filter(({ columns }) => 'is_active' in columns).map(({ row }) => row['username']),
      [],
    );
  };
  const active = [...(before?.get(tableNames(it).user)?.values() ?? [])].filter(
    (row) => row['is_active'] === true,
  );
  const ids = active.map(({ id }) => Number(id));
  await withSettings(it, AUTHENTICATION, lockDown, ids);
}

/** What ends the access of everyone at the installation. */
export const allAccess: AcceptanceSuite = {
  name: 'The access of everybody',
  needs: [consent('allAccess'), consent('settings'), PASSWORD],
  scenarios: [
    {
      name: 'a lockdown of all users over REST is what it says, and is lifted',
      run: (it) => lockDownAll(it, 'rest', []),
    },
    {
      name: 'a lockdown of all users in the database is what it says, and lift restores all but one who stayed active',
      needs: [DATABASE],
      run: (it) => lockDownAll(it, 'db', ['--deactivate', '--keep-active', it.adminName]),
    },
    {
      name: 'tokens revoke --all in the database leaves no token, and sessions expire --all no session',
      needs: [DATABASE],
      run: async (it) => {
        const account = await makeUser(it, 'all-revoked');
        const access = await makeAccess(it, account);
        const { run, json } = homeOf(it, { current: 'db' });
        assert.equal((await run('tokens', 'revoke', '--all', '--yes')).code, 0);
        assert.deepEqual((await json<unknown[]>('tokens', 'list')).body, []);
        const { code } = await run('sessions', 'expire', '--all', '--yes');
        // A gateway goes on with sessions from its cache, which this exit code says.
        const cache = it.description.database?.cache;
        assert.equal(code, it.isGateway && cache === undefined ? 5 : 0);
        assert.deepEqual((await json<unknown[]>('sessions', 'list')).body, []);
        await it.makeAdminToken();
        const { status } = await it.request('me/', { token: access.personal ?? '' });
        assert.equal(status, 401);
      },
    },
  ],
};
