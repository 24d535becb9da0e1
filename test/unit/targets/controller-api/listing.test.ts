import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Query } from '../../../../src/targets/controller-api/api.ts';
import { controllerDialect } from '../../../../src/targets/controller-api/controller-dialect.ts';
import { gatewayDialect } from '../../../../src/targets/controller-api/gateway-dialect.ts';
import {
  applicationQueries,
  queryString,
  tokenQueries,
  userQueries,
} from '../../../../src/targets/controller-api/queries.ts';

const day = new Date('2026-08-22T00:00:00.000Z');

function strings(queries: readonly Query[]): string[] {
  return queries.map(queryString);
}

describe('tokenQueries', () => {
  test.each([
    ['all tokens', { all: true }, ''],
    ['one user', { users: ['alice'] }, 'user__username=alice'],
    ['two users', { users: ['alice', 'bob'] }, 'user__username__in=alice,bob'],
    ['an application', { applications: ['CI & CD'] }, 'application__name=CI%20%26%20CD'],
    ['a scope', { scope: 'write' }, 'scope__contains=write'],
    ['an age', { createdBefore: day }, 'created__lt=2026-08-22T00%3A00%3A00.000Z'],
    ['expiry', { expiredAt: day }, 'expires__lte=2026-08-22T00%3A00%3A00.000Z'],
    ['never used', { neverUsed: true }, 'last_used__isnull=true'],
    ['distinct ids, ascending', { ids: [3, 1, 3] }, 'id__in=1,3'],
    [
      'unused tokens',
      { unusedSince: day },
      'created__lt=2026-08-22T00%3A00%3A00.000Z&or__last_used__lt=2026-08-22T00%3A00%3A00.000Z&or__last_used__isnull=true',
    ],
    ['several criteria', { scope: 'read', users: ['alice'] }, 'scope__contains=read&user__username=alice'],
  ] as const)('selects %s', (_, selector, expected) => {
    expect(strings(tokenQueries(selector))).toEqual([expected]);
  });

  test('uses a separate query for a name with a comma', () => {
    expect(strings(tokenQueries({ users: ['a', 'b,c', 'd'] }))).toEqual([
      'user__username__in=a,d',
      'user__username=b,c',
    ]);
  });

  test('makes no query for an empty list', () => {
    expect(tokenQueries({ ids: [] })).toEqual([]);
  });

  test('includes every id in exactly one query, none too long for a proxy', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 2 ** 40 }), { maxLength: 3000 }), (ids) => {
        const queries = tokenQueries({ ids });
        const asked = queries.flatMap((query) => query.flatMap(([, value]) => value.split(',').map(Number)));
        expect(asked).toEqual([...new Set(ids)].sort((a, b) => a - b));
        for (const query of strings(queries)) expect(query.length).toBeLessThan(3200);
      }),
    );
  });

  test('includes every user in exactly one query, whatever the name contains', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.string({ minLength: 1, unit: 'grapheme' }), { maxLength: 400 }),
        (users) => {
          const asked = tokenQueries({ users }).flatMap((query) =>
            query.flatMap(([name, value]) => (name.endsWith('__in') ? value.split(',') : [value])),
          );
          expect(asked.sort()).toEqual([...users].sort());
        },
      ),
    );
  });

  test('encodes names so that they decode unchanged', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, unit: 'grapheme' }), (name) => {
        const [query = ''] = strings(tokenQueries({ users: [name] }));
        expect(new URLSearchParams(query).get('user__username')).toBe(name);
      }),
    );
  });
});

test('userQueries and applicationQueries', () => {
  expect(strings(userQueries({}))).toEqual(['']);
  expect(strings(userQueries({ inactive: true }))).toEqual(['is_active=false']);
  expect(strings(userQueries({ names: ['alice', 'bob'] }))).toEqual(['username__in=alice,bob']);
  expect(strings(applicationQueries(['a', 'b']))).toEqual(['name__in=a,b']);
});

describe('queries of a controller’s activity stream', () => {
  test('find tokens by their links, and by their ids in the text', () => {
    expect(
      strings(controllerDialect.activity.queries({ tokenIds: [7, 7], actorIds: [1, 2], since: day })),
    ).toEqual([
      [
        'timestamp__gte=2026-08-22T00%3A00%3A00.000Z',
        'actor__id__in=1,2',
        'object1=o_auth2_access_token',
        'or__o_auth2_access_token__id__in=7',
        'or__changes__contains=%22id%22%3A%207',
        'or__changes__contains=%22id%22%3A7',
      ].join('&'),
    ]);
  });

  test('are one without criteria, none for an empty list, and several for many tokens', () => {
    expect(strings(controllerDialect.activity.queries({}))).toEqual(['']);
    expect(controllerDialect.activity.queries({ tokenIds: [] })).toEqual([]);
    const tokenIds = Array.from({ length: 100 }, (_, index) => 1_000_000_000 + index);
    const queries = controllerDialect.activity.queries({ tokenIds });
    expect(queries).toHaveLength(3);
    for (const query of queries) {
      expect(query.length).toBeLessThan(100);
      expect(queryString(query).length).toBeLessThan(5000);
    }
  });
});

describe('queries of a gateway’s activity stream', () => {
  test('find tokens by object id, without a text search', () => {
    expect(
      strings(gatewayDialect.activity.queries({ tokenIds: [7, 7, 8], actorIds: [1, 2], until: day })),
    ).toEqual([
      [
        'created__lt=2026-08-22T00%3A00%3A00.000Z',
        'content_type__model=oauth2accesstoken',
        'created_by__id__in=1,2',
        'object_id__in=7,8',
      ].join('&'),
    ]);
  });

  test('are one without criteria, none for an empty list, and several for many tokens', () => {
    expect(strings(gatewayDialect.activity.queries({}))).toEqual(['']);
    expect(gatewayDialect.activity.queries({ tokenIds: [] })).toEqual([]);
    const tokenIds = Array.from({ length: 1000 }, (_, index) => 1_000_000_000 + index);
    const queries = strings(gatewayDialect.activity.queries({ tokenIds }));
    expect(queries.length).toBeGreaterThan(1);
    for (const query of queries) expect(query.length).toBeLessThan(3200);
  });
});
