import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import { kinds } from '@tokenctl/testing/runs.ts';
import { temporaryFolder } from '@tokenctl/testing/temporary-folder.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { meantScope } from '../../../src/cli/incident/lockdown-order.ts';
import type { AccessPath } from '../../../src/domain/access.ts';
import { lockDown } from '../../../src/operations/incident/lock-down.ts';
import { namesFailure } from '../../../src/operations/incident/name-history.ts';
import { offboardUsers, planUserOffboarding } from '../../../src/operations/incident/offboard-user.ts';
import { type PlanLockdownOptions, planLockdown } from '../../../src/operations/incident/plan-lockdown.ts';
import { planOffboarding } from '../../../src/operations/incident/plan-offboarding.ts';
import { processSignals } from '../../../src/operations/signals/process-signal.ts';
import { openSignals } from '../../../src/signals/signal-store.ts';
import { openDatabaseEvidence } from '../../../src/targets/database/evidence/evidence.ts';
import { incidentFixture, NO_MEASURE } from '../../support/incident-fixture.ts';
import { loadRealCase } from '../../support/real-stream.ts';
import { describeEach, loadRealTables, REAL_PEERS, type RealTables } from '../../support/real-tables.ts';

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
function rowsOf({ database }: RealTables, { users, isGateway }: { users: string; isGateway: boolean }) {
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

describeEach(kinds(PEERS))('a rename while the question waits, in the tables of %s', (peer) => {
  it('leaves a lockdown of the one who was meant', { tags: ['long'] }, async () => {
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
    const refused = { code: 'plan_outdated', message: expect.stringContaining(`now belongs to user ${bob}`) };
    await expect(lockDown({ ...at.common, files: at.files, plan })).rejects.toMatchObject(refused);
    await expect(offboardUsers({ ...at.common, plan: leaving })).rejects.toMatchObject(refused);
    expect([await at.rows(alice), await at.rows(bob)]).toEqual(before);
  });
});

/** bob is called b0b since a moment ago, and another bob was made. */
async function decoyCase() {
  const real = await loadRealCase('awx-24.6.1');
  const at = await incidentFixture('database');
  const { bob = 0 } = real.id;
  const target = await real.open();
  await real.database.execute("UPDATE auth_user SET username = 'b0b' WHERE id = $1", [bob]);
  await real.write({
    ...{ actor: bob, operation: 'update', object1: 'user', links: { user: bob } },
    changes: { username: ['bob', 'b0b'] },
  });
  await real.database.execute(
    `INSERT INTO auth_user (password, is_superuser, username, first_name, last_name, email, is_staff, is_active, date_joined)
     VALUES ('x', false, 'bob', '', '', '', false, true, now())`,
  );
  const evidence = () => openDatabaseEvidence({ connection: new Secret(real.url) });
  const common = {
    ...at.common,
    // Entries have fractions of a millisecond.
    clock: { now: () => new Date(Date.now() + 1000) },
    ...{ target, description: await target.describe(), openNames: evidence },
  };
  const planOf = (names: readonly string[], more: Partial<PlanLockdownOptions> = {}) =>
    planLockdown({ ...common, scope: { kind: 'users', names }, measures: MEASURES, lasts: null, ...more });
  return {
    ...{ real, bob, common, evidence, planOf, files: at.files },
    async [Symbol.asyncDispose]() {
      await real.close();
      await at[Symbol.asyncDispose]();
    },
  };
}

/** A signal about the login name bob, handled in one place. */
async function handle(common: Awaited<ReturnType<typeof decoyCase>>['common'], released: string | null) {
  await using folder = await temporaryFolder();
  const store = await openSignals(join(folder.path, 'signals.sqlite'));
  await store.record({
    ...{
      issuer: 'https://idp.example.com',
      jti: '1',
      transmitter: 'idp',
      route: 'push',
      kinds: ['sessions-revoked'],
    },
    ...{
      subject: { format: 'email', email: 'bob' },
      kind: 'sessions-revoked',
      action: 'revoke',
      reason: null,
    },
    ...{ issued: new Date(), received: new Date(), state: 'waiting' },
  });
  const [claim] = await store.claim({ holder: 'test', lease: 60_000, limit: 1, now: new Date() });
  if (claim === undefined) throw new Error('nothing was claimed');
  const release = released === null ? null : { by: 'root', reason: null, user: released };
  const rules = { issuers: [], domains: [], accounts: null };
  return await processSignals([{ ...claim, signal: { ...claim.signal, released: release } }], {
    store,
    places: async () => [{ name: 'database', change: async () => common }],
    limits: { usersPerHour: 9, except: [], localUsers: 'act' },
    rulesOf: () => rules,
    files: (await incidentFixture('database')).files,
    clock: common.clock,
  });
}

describe.runIf(REAL_PEERS.includes('awx-24.6.1'))(
  'a name that another user had, in the tables of awx-24.6.1',
  () => {
    let at: Awaited<ReturnType<typeof decoyCase>>;
    beforeEach(async () => {
      at = await decoyCase();
    });
    afterEach(() => at[Symbol.asyncDispose]());

    it('is said before a lockdown trusts it', async () => {
      const { bob, planOf } = at;
      const [decoy, renamed] = [(await planOf(['bob'])).names, (await planOf(['b0b'])).names];
      expect(decoy).toMatchObject({ earlier: [{ id: bob, name: 'b0b' }], unread: null });
      expect(decoy.remarks).toEqual([
        expect.stringMatching(
          new RegExp(`^Until .*, the name "bob" belonged to user ${bob}, who is now called "b0b"`),
        ),
        expect.stringMatching(/^The user bob is new: the account was created at /),
      ]);
      expect(renamed.earlier).toEqual([]);
      expect(renamed.remarks[0]).toMatch(/^The user b0b was called "bob" until /);
      expect(namesFailure(decoy, { context: 'db', command: 'users offboard' })).toMatchObject({
        ...{ code: 'partly_done', message: `Still active: b0b (${bob}), who had the name before` },
        hint: expect.stringContaining('tokenctl users offboard b0b --context db'),
      });
    });

    it('is said again by a second lockdown, until the other one is locked down as well', {
      tags: ['long'],
    }, async () => {
      const { bob, common, files, planOf } = at;
      await lockDown({ ...common, files, plan: await planOf(['bob']) });
      const again = await planOf(['bob']);
      expect(again).toMatchObject({ continues: true, names: { earlier: [{ id: bob }] } });
      await lockDown({ ...common, files, plan: await planOf(['b0b'], { measures: NO_MEASURE }) });
      expect((await planOf(['bob'])).names).toMatchObject({ earlier: [], unread: null });
    });

    it('is said by an offboarding of a user, and by one of those who are gone by a directory', async () => {
      const { bob, common } = at;
      const { names } = await planUserOffboarding({ ...common, users: ['bob'] });
      expect(names).toMatchObject({ earlier: [{ id: bob, name: 'b0b' }] });
      const users = await Array.fromAsync(common.target.users.list());
      const called = (...some: string[]) => users.filter(({ username }) => some.includes(username));
      const none = { ...common, inactive: false, present: null, except: [], stopAbovePercent: 100 };
      const one = await planOffboarding({ ...none, gone: called('bob') });
      expect(one.names.earlier).toEqual([{ id: bob, name: 'b0b' }]);
      const both = await planOffboarding({ ...none, gone: called('bob', 'b0b') });
      expect(both.names).toMatchObject({ earlier: [], unread: null });
    });

    it('holds a signal about the login name, until a person says who is meant', async () => {
      const { bob, common } = at;
      expect(await handle(common, null)).toMatchObject({
        ...{ state: 'held', users: ['bob'] },
        reason: expect.stringContaining(`the name "bob" belonged to user ${bob}, who is now called "b0b"`),
      });
      expect(await handle(common, 'bob')).toMatchObject({
        state: 'done',
        reason: expect.stringContaining('who is now called "b0b"'),
      });
    });

    it('needs four tables of the database', { tags: ['long'] }, async () => {
      const { real, common } = at;
      const role = `names_${randomBytes(4).toString('hex')}`;
      await real.database.script(`CREATE ROLE ${role} LOGIN PASSWORD 'names'; GRANT SELECT ON
        auth_user, conf_setting, main_activitystream, main_activitystream_user TO ${role}`);
      const url = new URL(real.url);
      [url.username, url.password] = [role, 'names'];
      const openNames = () => openDatabaseEvidence({ connection: new Secret(url.href), namesOnly: true });
      const { names } = await planUserOffboarding({ ...common, users: ['bob'], openNames });
      expect(names).toMatchObject({ earlier: [{ name: 'b0b' }], unread: null });
      await real.database.script(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
    });

    it('counts as not read where the stream was emptied, or cannot be opened', {
      tags: ['long'],
    }, async () => {
      const { real, common, planOf } = at;
      const refused = () => Promise.reject(new TokenctlError('permission_refused', 'It may not be read'));
      const unread =
        /^Not read: whether another user had one of the names in the last 30 days\. It may not be read\.$/;
      const closed = await planUserOffboarding({ ...common, users: ['bob'], openNames: refused });
      expect(closed.names).toMatchObject({ earlier: [], unread: expect.stringMatching(unread) });
      const failure = namesFailure(closed.names, { context: 'db', command: '' });
      expect(failure).toMatchObject({ code: 'partly_done', message: expect.stringMatching(/^Not read: /) });
      await real.database.execute('TRUNCATE main_activitystream CASCADE');
      const { names } = await planOf(['bob']);
      expect(names.unread).toMatch(/^Not read: .* The activity stream is empty: /);
      expect(names.remarks).toEqual([expect.stringMatching(/^The user bob is new: /)]);
      // A signal is carried out: access is ended rather too early.
      expect(await handle(common, null)).toMatchObject({
        reason: expect.stringContaining('Not read: whether another user had one of the names'),
      });
    });

    it('gives way to the owner of a token', async () => {
      const { real, bob, common, evidence, planOf } = at;
      const { id: token = 0 } =
        real.filling.tokens.find((each) => each.user === 'bob' && each.id !== undefined) ?? {};
      const runtime = { readTarget: async () => common, evidence };
      const meant = (names: readonly string[], id = token) =>
        meantScope(runtime, { scope: { kind: 'users', names }, token: id });
      const { scope, remarks } = await meant(['bob']);
      expect(scope).toMatchObject({ names: ['b0b'], bound: [{ id: bob, name: 'b0b' }] });
      expect(remarks).toEqual([
        `Token ${token} belongs to b0b (${bob}), not to bob. This user is not included.`,
      ]);
      expect((await meant([])).remarks).toEqual([]);
      const plan = await planOf([], { scope, remarks });
      expect(plan.users.map(({ userId }) => userId)).toEqual([bob]);
      expect(plan.names.remarks[0]).toBe(remarks[0]);
      await expect(meant([], 987_654)).rejects.toMatchObject({ code: 'not_found' });
    });
  },
);
