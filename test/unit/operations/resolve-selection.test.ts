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
