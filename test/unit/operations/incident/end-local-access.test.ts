import { TokenctlError } from '@tokenctl/common/errors.ts';
import { describe, expect, test } from 'vitest';
import { lockdownPlanDocument } from '../../../../src/cli/incident/lockdown-plan.ts';
import type { AccessPath } from '../../../../src/domain/access.ts';
import type { LocalMeasures } from '../../../../src/domain/incident/incident.ts';
import { offboardUsers, planUserOffboarding } from '../../../../src/operations/incident/offboard-user.ts';
import { documentText } from '../../../../src/reports/document.ts';
import { incidentFixture, NO_MEASURE } from '../../../support/incident-fixture.ts';
import { description, user } from '../../../support/memory-target.ts';
import { token } from '../../../support/tokens.ts';

const ALICE = 2;
const EVERYTHING: LocalMeasures = { resetPasswords: true, stripRoles: true, endApplications: true };

/** A controller over REST, which deactivates no users: alice is a superuser, and a member of a team. */
async function controller() {
  const at = await incidentFixture('rest');
  const { capabilities } = description();
  at.target.self = description({ capabilities: { ...capabilities, deactivateUsers: false, roles: true } });
  at.target.access.held.set(ALICE, [
    { role: 'superuser', name: 'superuser' },
    { role: 7, name: 'Member of team Ops' },
  ]);
  const asked = {
    scope: { kind: 'users' as const, names: ['alice'] },
    measures: { ...NO_MEASURE, resetPasswords: true as const, stripRoles: true as const },
  };
  const offboarding = (measures: LocalMeasures = EVERYTHING) =>
    planUserOffboarding({ ...at.common, users: ['alice'], measures });
  return {
    ...at,
    common: at.common,
    asked,
    offboarding,
    offboard: async (measures?: LocalMeasures) =>
      await offboardUsers({ ...at.common, plan: await offboarding(measures) }),
    entries: async () => await Array.fromAsync(at.log.entries()),
  };
}

function states(paths: readonly AccessPath[]) {
  const covered = paths.filter((each) => each.covered);
  return Object.fromEntries(covered.map(({ path, state, basis }) => [path, `${state}: ${basis}`]));
}

function notCovered(paths: readonly AccessPath[]) {
  return paths.filter(({ covered }) => !covered).map(({ path }) => path);
}

describe('a lockdown where users cannot be deactivated', () => {
  test('sets a password that no one knows, takes the roles, and tries and reads both again', async () => {
    await using at = await controller();
    const report = await at.lockDown(at.asked);
    expect(report.result).toBe('locked');
    expect(states(report.accessPaths)).toMatchObject({
      ...{ passwords: 'closed: checked', roles: 'closed: checked' },
      ...{ sessions: 'closed: known', refresh_tokens: 'closed: known' },
      authorization_codes: 'not_checked: not_checked',
    });
    expect(notCovered(report.accessPaths)).toEqual(['single_sign_on']);
    expect(report.accessPaths.find(({ path }) => path === 'authorization_codes')?.remedy).toMatch(/expired/);
    expect(at.target.access.held.get(ALICE)).toEqual([]);
    const password = at.target.access.passwords.get(ALICE) ?? '';
    expect(password.length).toBeGreaterThan(40);
    expect(JSON.stringify([await at.entries(), report])).not.toContain(password);
  });

  test('says in its plan where there are no roles to take', async () => {
    await using at = await controller();
    const planned = async () => {
      const shown = { ends: '', opens: false };
      return documentText(lockdownPlanDocument(await at.plan(at.asked), at.target.self, shown));
    };
    expect(await planned()).toContain('Take 2 roles: ');
    at.target.access.held.set(ALICE, []);
    expect(await planned()).toContain('There are no roles to take from these users.');
  });

  test('claims nothing of a version that was not tried', async () => {
    await using at = await controller();
    at.target.self = { ...at.target.self, version: '24.7.0' };
    expect(states((await at.lockDown(at.asked)).accessPaths)).toMatchObject({
      passwords: 'closed: checked',
      sessions: 'not_checked: not_checked',
    });
  });

  test('finds a password that was changed again before the tokens were gone', async () => {
    await using at = await controller();
    at.target.onRevoke = () => {
      at.target.access.passwords.set(ALICE, 'of the intruder');
      return undefined;
    };
    const report = await at.lockDown(at.asked);
    expect(report.result).toBe('partly');
    expect(states(report.accessPaths)).toMatchObject({ passwords: 'open: checked' });
  });

  test('has not checked a password that could not be tried', async () => {
    await using at = await controller();
    at.target.values = { ...at.target.values, AUTH_BASIC_ENABLED: false };
    expect(states((await at.lockDown(at.asked)).accessPaths)).toMatchObject({
      ...{ passwords: 'not_checked: not_checked', sessions: 'not_checked: not_checked' },
    });
  });

  test('leaves the password of an external account, and says so', async () => {
    await using at = await controller();
    at.target.people[1] = { ...user(ALICE, 'alice'), externalAccount: 'social' };
    const report = await at.lockDown(at.asked);
    expect(at.target.access.passwords.size).toBe(0);
    expect(states(report.accessPaths)).toMatchObject({ passwords: 'not_checked: not_checked' });
    expect(notCovered(report.accessPaths)).toEqual(expect.arrayContaining(['login', 'external_accounts']));
  });

  test('is refused before anything is recorded where the target cannot', async () => {
    await using at = await controller();
    at.target.self = description();
    await expect(at.plan(at.asked)).rejects.toMatchObject({ code: 'unsupported' });
    expect(await at.entries()).toEqual([]);
  });

  test('never includes the caller', async () => {
    await using at = await controller();
    const scope = { kind: 'users' as const, names: ['admin', 'alice'] };
    const { local } = await at.plan({ ...at.asked, scope });
    expect(local.passwords.map(({ username }) => username)).toEqual(['alice']);
  });
});

describe('lifting gives roles back', () => {
  test('those that were taken, also by a lockdown that was repeated', async () => {
    await using at = await controller();
    const { incident } = await at.lockDown(at.asked);
    expect(await at.lockDown(at.asked)).toMatchObject({ incident, result: 'locked' });
    expect((await at.status())[0]?.values).toMatchObject([{ holds: true }, { holds: true }]);
    expect(await at.lift(incident)).toMatchObject({ result: 'lifted', steps: [{ step: 'roles' }] });
    const held = at.target.access.held.get(ALICE)?.map(({ role }) => role);
    expect(new Set(held)).toEqual(new Set(['superuser', 7]));
  });

  test.each([1, 2, 3])('also after the lockdown broke off at change %i and was run again', async (change) => {
    await using at = await controller();
    let changes = 0;
    at.target.access.onChange = () => {
      changes += 1;
      if (changes === change) throw new Error('broke off');
    };
    await expect(at.lockDown(at.asked)).rejects.toThrow('broke off');
    at.target.access.onChange = () => undefined;
    const { incident, result, accessPaths } = await at.lockDown(at.asked);
    expect([result, states(accessPaths)['roles'], states(accessPaths)['passwords']]).toEqual([
      ...['locked', 'closed: checked', 'closed: checked'],
    ]);
    expect(await at.log.abandonedIntents()).toEqual([]);
    await at.lift(incident);
    const held = at.target.access.held.get(ALICE)?.map(({ role }) => role);
    expect(new Set(held)).toEqual(new Set(['superuser', 7]));
  });

  test('but none that the target refused to take', async () => {
    await using at = await controller();
    at.target.access.onChange = (what) => {
      if (what === 'role 7') throw new TokenctlError('permission_refused', 'Managed by a map');
    };
    const { incident, result, accessPaths } = await at.lockDown(at.asked);
    expect([result, states(accessPaths)['roles']]).toEqual(['partly', 'open: checked']);
    at.target.access.held.set(ALICE, []);
    at.target.access.onChange = () => undefined;
    await at.lift(incident);
    expect(at.target.access.held.get(ALICE)?.map(({ role }) => role)).toEqual(['superuser']);
  });

  test('but none of a user who was offboarded since', async () => {
    await using at = await controller();
    const { incident } = await at.lockDown(at.asked);
    await at.offboard({ resetPasswords: true });
    const { left } = await at.lift(incident);
    expect(left.map(({ action }) => action)).toEqual(['ended_since', 'ended_since']);
    expect(at.target.access.held.get(ALICE)).toEqual([]);
  });
});

describe('applications', () => {
  /** alice made two; bob has a token of one. */
  async function withApplications() {
    const at = await controller();
    const made = (id: number, name: string) => {
      const created = at.target.now();
      at.target.programs.push({ id, name, clientType: 'confidential', grantType: 'password', created });
      if (id === 23) return;
      at.target.stream.push({
        ...{ id, at: created, operation: 'create', object: 'o_auth2_application' },
        ...{ actor: { id: ALICE, username: 'alice' }, changes: { id, name } },
      });
    };
    made(21, 'mine');
    made(22, 'shared');
    made(23, 'of others');
    at.target.alive.set(31, token({ id: 31, application: { id: 21, name: 'mine' } }));
    const bob = { id: 3, username: 'bob' };
    at.target.alive.set(32, token({ id: 32, user: bob, application: { id: 22, name: 'shared' } }));
    return at;
  }

  test('that only the users have tokens of are deleted, the others kept and named', async () => {
    await using at = await withApplications();
    const report = await at.offboard();
    expect(at.target.programs.map(({ name }) => name)).toEqual(['shared', 'of others']);
    expect(at.target.alive.has(32)).toBe(true);
    expect(states(report.accessPaths)).toMatchObject({ applications: 'closed: checked' });
    const { local } = await at.offboarding();
    expect(local).toMatchObject({ applications: [], applicationsKept: [{ id: 22, othersTokens: 1 }] });
  });

  test('of a selection are deleted with the tokens of all users', async () => {
    await using at = await withApplications();
    const report = await at.lockDown({
      scope: { kind: 'applications', names: ['shared'] },
      measures: { ...NO_MEASURE, endApplications: true },
    });
    expect(states(report.accessPaths)).toMatchObject({ applications: 'closed: checked' });
    expect(notCovered(report.accessPaths)).not.toContain('applications');
    expect(at.target.alive.has(32)).toBe(false);
  });
});
