import { describe, expect, it } from 'vitest';
import type { AccessPath } from '../../../src/domain/access.ts';
import { Secret } from '../../../src/domain/secret.ts';
import { lockDown } from '../../../src/operations/incident/lock-down.ts';
import { offboardUsers, planUserOffboarding } from '../../../src/operations/incident/offboard-user.ts';
import { planLockdown } from '../../../src/operations/incident/plan-lockdown.ts';
import { openDatabaseEvidence } from '../../../src/targets/database/evidence.ts';
import { incidentFixture, NO_MEASURE } from '../../support/incident-fixture.ts';
import { loadRealCase } from '../../support/real-stream.ts';
import { loadRealTables, REAL_PEERS, type RealTables } from '../../support/real-tables.ts';
import { kinds } from '../../support/runs.ts';

const PEERS = REAL_PEERS.filter((peer) => peer === 'awx-24.6.1' || peer === 'gateway-newest');
const MEASURES = { ...NO_MEASURE, deactivate: true };

/** The tables of a peer, with the log and the files of a fixture. */
async function estate(peer: (typeof PEERS)[number]) {
  const at = await incidentFixture('database');
  const real = await loadRealTables(peer);
  const isGateway = peer.startsWith('gateway');
  const users = isGateway ? 'aap_gateway_api_user' : 'auth_user';
  const target = await real.open();
  const common = {
    ...at.common,
    clock: { now: () => new Date() },
    target,
    description: await target.describe(),
  };
  return {
    ...{ common, files: at.files, rows: rowsOf(real, { users, isGateway }) },
    rename: (id: number, to: string) =>
      real.database.execute(`UPDATE ${users} SET username = $1 WHERE id = $2`, [to, id]),
    users: real.filling.users,
    async [Symbol.asyncDispose]() {
      await real.close();
      await at[Symbol.asyncDispose]();
    },
  };
}

/** What the tables have of a user. */
function rowsOf(
  { database }: RealTables,
  { users, isGateway }: { readonly users: string; readonly isGateway: boolean },
) {
  const tokens = isGateway ? 'dab_oauth2_provider_oauth2accesstoken' : 'main_oauth2accesstoken';
  return async (id: number) => {
    const [row] = await database.query<{ active: boolean; tokens: number }>(
      `SELECT u.is_active AS active, (SELECT count(*)::int FROM ${tokens} t WHERE t.user_id = u.id) AS tokens
       FROM ${users} u WHERE u.id = $1`,
      [id],
    );
    return row;
  };
}

const stateOf = (paths: readonly AccessPath[], path: AccessPath['path']) =>
  paths.find((each) => each.path === path)?.state;

describe.each(kinds(PEERS))('a rename while the question waits, in the tables of %s', (peer) => {
  it('leaves a lockdown of the one who was meant', async () => {
    await using at = await estate(peer);
    const { alice = 0 } = at.users;
    const scope = { kind: 'users', names: ['alice'] } as const;
    const plan = await planLockdown({ ...at.common, scope, measures: MEASURES, lasts: null });
    expect((await at.rows(alice))?.tokens).toBeGreaterThan(0);
    await at.rename(alice, 'tog7');
    const report = await lockDown({ ...at.common, files: at.files, plan });
    expect(report.renamed).toEqual([{ id: alice, name: 'alice', now: 'tog7' }]);
    expect(stateOf(report.accessPaths, 'users')).toBe('closed');
    expect(await at.rows(alice)).toEqual({ active: false, tokens: 0 });
  });

  it('stops a lockdown and an offboarding where another has the name', async () => {
    await using at = await estate(peer);
    const { alice = 0, bob = 0 } = at.users;
    const before = [await at.rows(alice), await at.rows(bob)];
    const scope = { kind: 'users', names: ['alice'] } as const;
    const plan = await planLockdown({ ...at.common, scope, measures: MEASURES, lasts: null });
    const leaving = await planUserOffboarding({ ...at.common, users: ['alice'] });
    await at.rename(alice, 'liam');
    await at.rename(bob, 'alice');
    const refused = { code: 'plan_outdated', message: expect.stringContaining(`that of user ${bob} now`) };
    await expect(lockDown({ ...at.common, files: at.files, plan })).rejects.toMatchObject(refused);
    await expect(offboardUsers({ ...at.common, plan: leaving })).rejects.toMatchObject(refused);
    expect([await at.rows(alice), await at.rows(bob)]).toEqual(before);
  });
});

describe.runIf(REAL_PEERS.includes('awx-24.6.1'))(
  'a name that another user had, in the tables of awx-24.6.1',
  () => {
    it('is said before a lockdown trusts it', async () => {
      const real = await loadRealCase('awx-24.6.1');
      await using at = await incidentFixture('database');
      const { bob = 0 } = real.id;
      const target = await real.open();
      const common = {
        log: at.log,
        clock: { now: () => new Date() },
        target,
        measures: MEASURES,
        lasts: null,
      };
      const openNames = () => openDatabaseEvidence({ connection: new Secret(real.url) });
      const namesOf = async (name: string) => {
        const scope = { kind: 'users', names: [name] } as const;
        const description = await target.describe();
        return (await planLockdown({ ...common, description, scope, openNames })).names;
      };
      await real.database.execute("UPDATE auth_user SET username = 'b0b' WHERE id = $1", [bob]);
      await real.write({
        ...{ actor: bob, operation: 'update', object1: 'user', links: { user: bob } },
        changes: { username: ['bob', 'b0b'] },
      });
      await real.database.execute(
        `INSERT INTO auth_user (password, is_superuser, username, first_name, last_name, email, is_staff, is_active, date_joined)
       VALUES ('x', false, 'bob', '', '', '', false, true, now())`,
      );
      const [decoy, renamed] = [await namesOf('bob'), await namesOf('b0b')];
      expect(decoy.earlier).toEqual([{ id: bob, name: 'b0b' }]);
      expect(decoy.remarks).toEqual([
        expect.stringMatching(
          new RegExp(`^Until .*, the name "bob" was that of user ${bob}, who is called "b0b" now`),
        ),
        expect.stringMatching(/^The user bob is new: the account was created at /),
      ]);
      expect(renamed.earlier).toEqual([]);
      expect(renamed.remarks[0]).toMatch(/^The user b0b was called "bob" until /);
      await real.close();
    });
  },
);
