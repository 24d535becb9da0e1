import { describe, expect, test } from 'vitest';
import type { Selection } from '../../../src/domain/selector.ts';
import type { Application } from '../../../src/domain/token.ts';
import { resolveSelection } from '../../../src/operations/scope/resolve-names.ts';
import { lastUseDays } from '../../../src/operations/tokens/last-use-days.ts';
import { description, MemoryTarget, user } from '../../support/memory-target.ts';
import { token } from '../../support/tokens.ts';

function target(): MemoryTarget {
  const at = new MemoryTarget();
  at.people.push(
    user(4, 'ci-a'),
    user(5, 'ci-b'),
    user(6, 'ci-legacy'),
    user(7, 'gone', { isActive: false }),
  );
  at.people.push(user(8, 'ci-*'), user(9, 'ci-left', { isActive: false }));
  at.circles.push(
    { kind: 'organization', id: 1, name: 'Eng', organization: null, users: ['alice', 'bob', 'ci-a', 'gone'] },
    { kind: 'organization', id: 2, name: 'Sales', organization: null, users: ['bob', 'ci-b'] },
    { kind: 'team', id: 1, name: 'Ops', organization: 'Eng', users: ['alice', 'ci-b'] },
    { kind: 'team', id: 2, name: 'Ops', organization: 'Sales', users: [] },
    { kind: 'team', id: 3, name: 'Empty', organization: 'Sales', users: [] },
    { kind: 'team', id: 4, name: 'Edge', organization: 'Sales', users: ['bob'] },
  );
  at.programs.push(application(1, 'CI'), application(2, 'CI nightly'));
  return at;
}

function application(id: number, name: string): Application {
  const created = new Date('2020-01-01T00:00:00Z');
  return { id, name, clientType: 'confidential', grantType: 'password', created };
}

const named = (...names: string[]) => names.map((pattern) => ({ pattern }));

describe('resolveSelection', () => {
  test.each<[string, Selection, object, string]>([
    ['an exact name', { users: named('alice') }, { users: ['alice'] }, 'tokens of alice'],
    [
      'a pattern',
      { users: named('ci-?') },
      { users: ['ci-a', 'ci-b', 'ci-*'] },
      'tokens of ci-? (3 users: ci-a or ci-b or ci-*)',
    ],
    [
      'a pattern without some',
      { users: named('ci-*', 'bob'), notUsers: ['ci-l*', 'ci-\\*'] },
      { users: ['bob', 'ci-a', 'ci-b'] },
      'tokens of ci-* or bob without ci-l* or ci-\\* (3 users: bob or ci-a or ci-b)',
    ],
    ['a name with a star', { users: named('ci-\\*') }, { users: ['ci-*'] }, 'tokens of ci-*'],
    ['all but some', { notUsers: ['ci-*'] }, { notUsers: ['ci-*'] }, 'tokens not of ci-*'],
    [
      'deactivated users',
      { ownerInactive: true },
      { users: ['gone', 'ci-left'] },
      'tokens of deactivated users (gone or ci-left)',
    ],
    [
      'deactivated users among some',
      { ownerInactive: true, users: named('ci-*'), scope: 'write' },
      { users: ['ci-left'], scope: 'write' },
      'tokens of deactivated users (ci-left), with scope write',
    ],
    [
      'no deactivated user among them',
      { ownerInactive: true, users: named('alice'), scope: 'write' },
      { none: true },
      'tokens of deactivated users',
    ],
    [
      'applications',
      { applications: named('CI*'), notApplications: ['CI'] },
      { applications: ['CI nightly'] },
      'tokens issued to CI* without CI (1 application: CI nightly)',
    ],
    [
      'an organization',
      { organizations: named('Eng') },
      { users: ['alice', 'bob', 'ci-a', 'gone'] },
      'tokens of members and administrators of the organization Eng (4 users: alice or bob or ci-a or gone)',
    ],
    [
      'several, without some',
      { organizations: named('Eng', 'S*'), notUsers: ['ci-*'], scope: 'read' },
      { users: ['alice', 'bob', 'gone'], scope: 'read' },
      'tokens of members and administrators of the organizations Eng or Sales without ci-* (3 users: alice or bob or gone), with scope read',
    ],
    [
      'a team by its organization, among named users',
      { teams: named('Eng/Ops'), users: named('alice', 'bob') },
      { users: ['alice'] },
      'tokens of alice or bob, among members and administrators of the team Eng/Ops (1 user: alice)',
    ],
    [
      'a pattern of teams, which is not one of their organizations',
      { teams: named('E*') },
      { users: ['bob'] },
      'tokens of members and administrators of the teams Sales/Empty or Sales/Edge (1 user: bob)',
    ],
    [
      'all teams of an organization and deactivated users of another',
      { teams: named('Eng/*'), organizations: named('Eng'), ownerInactive: true },
      { none: true },
      'tokens of deactivated users (gone or ci-left), among members and administrators of the organization Eng, among members and administrators of the team Eng/Ops (no user)',
    ],
    [
      'a team of no one: no token, and not those of all',
      { teams: named('Sales/Ops'), scope: 'write' },
      { none: true },
      'tokens of members and administrators of the team Sales/Ops (no user)',
    ],
  ])('%s', async (_, selection, selector, words) => {
    expect(await resolveSelection(target(), selection)).toEqual({ selector, words });
  });

  test.each<[string, Selection, string]>([
    ['an unknown name', { users: named('alcie') }, 'not_found'],
    [
      'an unknown name that is left out: who is to be spared must exist',
      { notUsers: ['alcie'] },
      'not_found',
    ],
    ['a pattern that matches nobody', { users: named('svc-*') }, 'not_found'],
    ['such a pattern that is left out', { notUsers: ['svc-*'] }, 'not_found'],
    ['an unknown application', { notApplications: ['CD'] }, 'not_found'],
    ['a selection that leaves out all', { users: named('ci-a'), notUsers: ['ci-*'] }, 'usage'],
    ['an unknown organization', { organizations: named('Engg') }, 'not_found'],
    ['an unknown one beside a known one', { organizations: named('Eng', 'Enh') }, 'not_found'],
    ['a pattern of teams that matches none', { teams: named('X*') }, 'not_found'],
    ['a name that several teams have', { teams: named('Ops') }, 'usage'],
    ['nothing', {}, 'usage'],
  ])('refuses %s', async (_, selection, code) => {
    await expect(resolveSelection(target(), selection)).rejects.toMatchObject({ code });
  });

  test('an account that sees part is not told that nothing matches', async () => {
    const at = target();
    at.self = description({
      visibility: {
        kind: 'part',
        tokens: 'its own',
        users: 'itself',
        applications: 'none',
        organizations: [],
      },
    });
    await expect(resolveSelection(at, { notUsers: ['svc-*'] })).rejects.toMatchObject({
      code: 'permission_refused',
    });
    await expect(resolveSelection(at, { organizations: named('Engg') })).rejects.toMatchObject({
      code: 'permission_refused',
      message: 'No organization named "Engg" is visible to admin',
    });
  });

  test('names of organizations and teams: the nearest, and how to tell several of one name apart', async () => {
    await expect(resolveSelection(target(), { organizations: named('Engg') })).rejects.toMatchObject({
      hint: 'Did you mean "Eng"?',
    });
    await expect(resolveSelection(target(), { teams: named('Ops') })).rejects.toMatchObject({
      hint: 'Specify it with its organization: "Eng/Ops" or "Sales/Ops".',
    });
  });
});

test('the last use is narrowed down to the day, without more requests than days need', async () => {
  const at = new MemoryTarget();
  const created = new Date('2024-01-01T10:00:00Z');
  const used = [
    '2024-01-01T23:59:59Z',
    '2024-02-29T00:00:00Z',
    '2026-11-20T09:00:00Z',
    '2026-11-20T23:00:00Z',
  ];
  for (const [index, lastUsed] of [...used.map((text) => new Date(text)), null].entries())
    at.alive.set(index + 1, token({ id: index + 1, created, lastUsed }));
  let requests = 0;
  const list = at.tokens.bind(at);
  at.tokens = (selector) => {
    requests += 1;
    return list(selector);
  };
  const found = await lastUseDays(at, {
    tokens: [...at.alive.values()],
    now: new Date('2026-11-20T10:00:00Z'),
  });
  expect(Array.from(found, ([id, day]) => [id, day?.toISOString().slice(0, 10) ?? null]).sort()).toEqual([
    [1, '2024-01-01'],
    [2, '2024-02-29'],
    [3, '2026-11-20'],
    [4, '2026-11-20'],
    [5, null],
  ]);
  expect(requests).toBeLessThan(35);
  const many = Array.from({ length: 10_001 }, (_, index) => token({ id: index + 1 }));
  await expect(lastUseDays(at, { tokens: many, now: new Date() })).rejects.toMatchObject({ code: 'usage' });
});
