import { TokenctlError } from '@tokenctl/common/errors.ts';
import { describe, expect, test } from 'vitest';
import { offboardUsers, planUserOffboarding } from '../../../../src/operations/incident/offboard-user.ts';
import { failingFrom } from '../../../support/fixture.ts';
import { incidentFixture, pathsThat } from '../../../support/incident-fixture.ts';
import { description } from '../../../support/memory-target.ts';
import { token } from '../../../support/tokens.ts';

const ALICE = { users: ['alice'] };

/** alice with all she has in a database; bob with a token. */
async function leaving(kind: 'rest' | 'database' = 'database') {
  const at = await incidentFixture(kind);
  at.target.alive.set(9, token({ id: 9, user: { id: 3, username: 'bob' } }));
  const plan = () => planUserOffboarding({ ...at.common, ...ALICE });
  return {
    ...at,
    common: at.common,
    plan,
    offboard: async () => offboardUsers({ ...at.common, plan: await plan() }),
  };
}

describe('offboarding a user', () => {
  test('deactivates, revokes, and finds nothing of theirs left', async () => {
    await using at = await leaving();
    const report = await at.offboard();
    expect(report).toMatchObject({ result: 'done', staysActive: false });
    expect(report.steps.map(({ step, result }) => [step, result])).toEqual([
      ['users', 'done'],
      ['tokens', 'done'],
    ]);
    expect(pathsThat('closed', report.accessPaths)).toEqual([
      'access_tokens',
      'authorization_codes',
      'refresh_tokens',
      'sessions',
      'users',
    ]);
    expect(report.accessPaths.filter(({ state }) => state !== 'closed')).toMatchObject([
      { path: 'gateway', covered: false },
    ]);
    expect([...at.target.alive.keys()]).toEqual([9]);
    expect(at.target.people.map(({ isActive }) => isActive)).toEqual([true, false, true]);
  });

  test('a second time has nothing to do', async () => {
    await using at = await leaving();
    await at.offboard();
    expect(await at.plan()).toMatchObject({
      deactivate: [],
      revocation: { tokenIds: [], refreshTokenIds: [] },
    });
    expect(await at.offboard()).toMatchObject({ result: 'done', steps: [] });
  });

  test('knows of a target that tells it only when asked who is deactivated', async () => {
    await using at = await leaving();
    at.target.tellsActive = false;
    expect(await at.offboard()).toMatchObject({ result: 'done' });
    expect((await at.plan()).deactivate).toEqual([]);
  });

  test('warns of passwords only where a user stays active', async () => {
    await using at = await leaving();
    const path = 'basic_authentication' as const;
    expect((await at.plan()).revocation.accessPaths.map(({ path }) => path)).not.toContain(path);
    const { capabilities } = at.target.self;
    at.target.self = { ...at.target.self, capabilities: { ...capabilities, deactivateUsers: false } };
    expect((await at.plan()).revocation.accessPaths.map((each) => each.path)).toContain(path);
  });

  test('says where a user stays active', async () => {
    await using at = await leaving('rest');
    at.target.self = description({ capabilities: { ...description().capabilities, deactivateUsers: false } });
    const plan = await planUserOffboarding({ ...at.common, description: at.target.self, ...ALICE });
    const report = await offboardUsers({ ...at.common, description: at.target.self, plan });
    expect(report).toMatchObject({ result: 'partly', staysActive: true });
    expect([...at.target.alive.keys()]).toEqual([9]);
  });

  test('over REST is only partly done: what cannot be listed is not checked', async () => {
    await using at = await leaving('rest');
    const report = await at.offboard();
    expect(report.result).toBe('partly');
    expect(report.accessPaths.map(({ path, state }) => [path, state])).toEqual([
      ['access_tokens', 'closed'],
      ['authorization_codes', 'not_checked'],
      ['refresh_tokens', 'not_checked'],
      ['sessions', 'not_checked'],
      ['users', 'closed'],
      ['requests', 'not_checked'],
    ]);
  });

  test('goes on where deactivation fails, and is partly done', async () => {
    await using at = await leaving();
    at.target.onUser = () => {
      throw new TokenctlError('permission_refused', 'No');
    };
    expect(await at.offboard()).toMatchObject({ result: 'partly' });
    expect([...at.target.alive.keys()]).toEqual([9]);
  });

  test('of oneself is refused', async () => {
    await using at = await leaving();
    at.target.self = description();
    const options = { ...at.common, description: at.target.self, users: ['admin'] };
    await expect(planUserOffboarding(options)).rejects.toMatchObject({ code: 'lockout_refused' });
  });

  test('does nothing where the log cannot be written', async () => {
    await using at = await leaving();
    const plan = await at.plan();
    await expect(offboardUsers({ ...at.common, log: failingFrom(at.log, 1), plan })).rejects.toMatchObject({
      code: 'audit_unavailable',
    });
    expect(at.target.alive.size).toBe(6);
    expect(at.target.people[1]?.isActive).toBe(true);
  });
});
