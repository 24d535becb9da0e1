import { refused } from '@tokenctl/testing/refused.ts';
import { describe, expect, test } from 'vitest';
import type { LockdownScope } from '../../../../src/domain/incident/incident.ts';
import type { User } from '../../../../src/domain/token.ts';
import { lockDown } from '../../../../src/operations/incident/lock-down.ts';
import { offboardUsers, planUserOffboarding } from '../../../../src/operations/incident/offboard-user.ts';
import { incidentFixture, NO_MEASURE, pathsThat } from '../../../support/incident-fixture.ts';
import { user } from '../../../support/memory-target.ts';
import { token } from '../../../support/tokens.ts';

const ALICE: LockdownScope = { kind: 'users', names: ['alice'] };
const DEACTIVATE = { ...NO_MEASURE, deactivate: true };

/** admin (1), alice (2) with all tokens but one, and bob (3) with token 9. */
async function estate(kind: 'rest' | 'database' = 'database') {
  const at = await incidentFixture(kind);
  const bob = { id: 3, username: 'bob' };
  at.target.alive.set(9, token({ id: 9, user: bob }));
  const change = (id: number, other: Partial<User>) => {
    const place = at.target.people.findIndex((each) => each.id === id);
    at.target.people[place] = user(id, '', { ...at.target.people[place], ...other });
  };
  const rename = (id: number, username: string) => {
    const named = <T extends { readonly user: { readonly id: number } | null }>(each: T): T =>
      each.user?.id === id ? { ...each, user: { id, username } } : each;
    change(id, { username });
    for (const [key, each] of at.target.alive) at.target.alive.set(key, named(each));
    for (const [key, each] of at.target.refresh.rows) at.target.refresh.rows.set(key, named(each));
  };
  return {
    ...at,
    rename,
    change,
    isActive: (id: number) => at.target.people.find((each) => each.id === id)?.isActive,
    tokensOf: (id: number) => [...at.target.alive.values()].filter((each) => each.user?.id === id).length,
    /** Plans, has something happen as while the question waits, and acts. */
    async lockDownAfter(meanwhile: () => void, scope = ALICE, measures = DEACTIVATE) {
      const plan = await at.plan({ scope, measures });
      meanwhile();
      return await lockDown({ ...at.common, files: at.files, plan });
    },
    async offboardAfter(meanwhile: () => void) {
      const plan = await planUserOffboarding({ ...at.common, users: ['alice'] });
      meanwhile();
      return await offboardUsers({ ...at.common, plan });
    },
    [Symbol.asyncDispose]: () => at[Symbol.asyncDispose](),
  };
}

describe.each(['database', 'rest'] as const)('a rename after the plan of a lockdown (%s)', (kind) => {
  test('locks down the one who was meant, and says the new name', async () => {
    await using at = await estate(kind);
    const report = await at.lockDownAfter(() => at.rename(2, 'mallory'));
    expect(report).toMatchObject({ result: 'locked', renamed: [{ id: 2, name: 'alice', now: 'mallory' }] });
    expect(at.isActive(2)).toBe(false);
    expect(at.tokensOf(2)).toBe(0);
    expect(pathsThat('closed', report.accessPaths)).toContain('users');
  });

  test('to a name that is another’s changes nothing, and says whose it is', async () => {
    await using at = await estate(kind);
    const entries = (await at.entries()).length;
    const before = at.target.alive.size;
    const swap = () => {
      at.rename(2, 'other');
      at.rename(3, 'alice');
    };
    await expect(at.lockDownAfter(swap)).rejects.toMatchObject({
      code: 'plan_outdated',
      message: 'The name "alice" belonged to user 2 and now belongs to user 3. Nothing was changed',
      hint: expect.stringContaining('User 2 is now called "other".'),
    });
    expect(at.target.alive.size).toBe(before);
    expect([at.isActive(2), at.isActive(3)]).toEqual([true, true]);
    expect(await at.entries()).toHaveLength(entries);
  });

  test('an intruder who takes the name of a user to keep active is not kept', async () => {
    await using at = await estate(kind);
    const measures = { ...DEACTIVATE, keepActive: ['bob'] };
    const swap = () => {
      at.rename(3, 'robert');
      at.rename(2, 'bob');
    };
    await expect(at.lockDownAfter(swap, { kind: 'all' }, measures)).rejects.toMatchObject({
      code: 'plan_outdated',
    });
    at.rename(2, 'alice');
    at.rename(3, 'bob');
    const report = await at.lockDownAfter(() => at.rename(3, 'bobby'), { kind: 'all' }, measures);
    expect(report.result).toBe('locked');
    expect([at.isActive(2), at.isActive(3)]).toEqual([false, true]);
  });

  test('of two who are both meant, to each other’s names, locks down both', async () => {
    await using at = await estate(kind);
    const both: LockdownScope = { kind: 'users', names: ['alice', 'bob'] };
    const swap = () => {
      at.rename(2, '-');
      at.rename(3, 'alice');
      at.rename(2, 'bob');
    };
    expect(await at.lockDownAfter(swap, both)).toMatchObject({ result: 'locked' });
    expect([at.isActive(2), at.isActive(3)]).toEqual([false, false]);
    expect(at.target.alive.size).toBe(0);
  });
});

describe('after a lockdown', () => {
  test('status follows the user, and says who has the name now', async () => {
    await using at = await estate();
    await at.lockDown({ scope: ALICE, measures: NO_MEASURE });
    at.rename(2, 'mallory');
    at.rename(3, 'alice');
    const [quiet] = await at.status();
    expect(quiet).toMatchObject({ aliveCount: 0, holds: true });
    expect(quiet?.names).toEqual([
      'User 2, formerly called "alice", is now called "mallory".',
      'The name "alice" now belongs to user 3, which is not included.',
    ]);
    at.target.alive.set(10, token({ id: 10, user: { id: 2, username: 'mallory' } }));
    const [status] = await at.status();
    expect(status).toMatchObject({ aliveCount: 1, holds: false });
  });

  test('status of an incident without ids does not call a missing name closed', async () => {
    await using at = await estate();
    const plan = await at.plan({ scope: ALICE, measures: NO_MEASURE });
    await lockDown({ ...at.common, files: at.files, plan: { ...plan, scope: ALICE } });
    at.rename(2, 'mallory');
    const [status] = await at.status();
    expect(status).toMatchObject({ holds: null, notSeen: 'alice cannot be found' });
    expect(pathsThat('not_checked', status?.accessPaths)).toContain('users');
  });

  test('the same lockdown goes on with the user who was meant, and lifts that one', async () => {
    await using at = await estate();
    const { incident } = await at.lockDown({ scope: ALICE, measures: DEACTIVATE });
    at.rename(2, 'mallory');
    at.change(2, { isActive: true });
    expect(await at.lockDown({ scope: ALICE, measures: DEACTIVATE })).toMatchObject({ incident });
    expect(at.isActive(2)).toBe(false);
    await at.lift(incident);
    expect(at.isActive(2)).toBe(true);
  });

  test('the same name for another user is another lockdown', async () => {
    await using at = await estate();
    const { incident } = await at.lockDown({ scope: ALICE, measures: DEACTIVATE });
    at.rename(2, 'mallory');
    at.rename(3, 'alice');
    const other = await at.lockDown({ scope: ALICE, measures: DEACTIVATE });
    expect(other.incident).not.toBe(incident);
    expect([at.isActive(2), at.isActive(3)]).toEqual([false, false]);
    await at.lift(other.incident);
    expect([at.isActive(2), at.isActive(3)]).toEqual([false, true]);
  });

  test('one who was deleted is said to be, and does not keep it unfinished', async () => {
    await using at = await estate();
    await at.lockDown({ scope: ALICE, measures: NO_MEASURE });
    at.target.people.splice(1, 1);
    const [status] = await at.status();
    expect(status?.names).toEqual(['User 2, formerly called "alice", was deleted.']);
  });
});

describe('applications', () => {
  test('are locked down by id: one that takes the name stops it', async () => {
    await using at = await estate();
    const app = { clientType: 'confidential', grantType: 'password', created: new Date(0) } as const;
    const tokenOf = (id: number, application: { id: number; name: string }) =>
      at.target.alive.set(id, token({ id, application }));
    at.target.programs.push({ id: 7, name: 'Bot', ...app });
    tokenOf(20, { id: 7, name: 'Bot' });
    const scope: LockdownScope = { kind: 'applications', names: ['Bot'] };
    const renameApp = (id: number, name: string) => {
      const place = at.target.programs.findIndex((each) => each.id === id);
      at.target.programs.splice(place, 1, { id, name, ...app });
      for (const [key, each] of at.target.alive)
        if (each.application?.id === id) at.target.alive.set(key, { ...each, application: { id, name } });
    };
    const swap = () => {
      renameApp(7, 'Evil');
      at.target.programs.push({ id: 8, name: 'Bot', ...app });
    };
    await expect(at.lockDownAfter(swap, scope, NO_MEASURE)).rejects.toMatchObject({ code: 'plan_outdated' });
    expect(at.target.alive.has(20)).toBe(true);
    at.target.programs.pop();
    const evil: LockdownScope = { kind: 'applications', names: ['Evil'] };
    await at.lockDownAfter(() => renameApp(7, 'Worse'), evil, NO_MEASURE);
    expect(at.target.alive.has(20)).toBe(false);
  });
});

describe('offboarding', () => {
  test('ends the access of the one who was meant, whatever the name is now', async () => {
    await using at = await estate();
    const report = await at.offboardAfter(() => at.rename(2, 'mallory'));
    expect(report).toMatchObject({ result: 'done', renamed: [{ id: 2, now: 'mallory' }] });
    expect([at.isActive(2), at.tokensOf(2), at.tokensOf(3)]).toEqual([false, 0, 1]);
  });

  test('stops before anything if another has the name now', async () => {
    await using at = await estate();
    const swap = () => {
      at.rename(2, 'other');
      at.rename(3, 'alice');
    };
    await expect(at.offboardAfter(swap)).rejects.toMatchObject({ code: 'plan_outdated' });
    expect([at.isActive(2), at.isActive(3), at.tokensOf(3)]).toEqual([true, true, 1]);
  });

  test('stops if the id is that of a user who was made at another time', async () => {
    await using at = await estate();
    const madeAt = (created: string) => at.change(2, { created: new Date(created) });
    madeAt('2026-01-01');
    await expect(at.offboardAfter(() => madeAt('2026-02-02'))).rejects.toMatchObject(
      refused('plan_outdated', 'created at a different time'),
    );
    expect(at.isActive(2)).toBe(true);
  });

  test('under a new name keeps a lifted lockdown from giving access back', async () => {
    await using at = await estate();
    const { incident } = await at.lockDown({ scope: ALICE, measures: DEACTIVATE });
    at.rename(2, 'mallory');
    await offboardUsers({
      ...at.common,
      plan: await planUserOffboarding({ ...at.common, users: ['mallory'] }),
    });
    at.rename(3, 'alice');
    await at.lift(incident);
    expect(at.isActive(2)).toBe(false);
  });
});
