import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { PlanBuilder, planDigest } from '../../../src/domain/plan-builder.ts';
import type { Token } from '../../../src/domain/token.ts';
import { refreshToken } from '../../support/memory-refresh-tokens.ts';
import { token } from '../../support/tokens.ts';

function planOf(tokens: readonly Token[], own: readonly number[] = [], includeOwn = false) {
  const builder = new PlanBuilder({
    context: 'rest',
    selection: 'every token',
    ownTokenIds: own,
    includeOwn,
  });
  for (const each of tokens) builder.add(each);
  return builder.build({ accessPaths: [], absentIds: [] });
}

const bob = { id: 3, username: 'bob' };

describe('PlanBuilder', () => {
  test('counts by owner, application and scope, the largest first', () => {
    const plan = planOf([
      token({ id: 1 }),
      token({ id: 2, user: bob, application: { id: 9, name: 'CI' }, scope: 'write' }),
      token({ id: 3, user: bob }),
      token({ id: 4, user: null }),
    ]);
    expect(plan.byUser).toEqual([
      { name: 'bob', count: 2 },
      { name: '(no owner)', count: 1 },
      { name: 'alice', count: 1 },
    ]);
    expect(plan.byApplication).toEqual([
      { name: '(personal access token)', count: 3 },
      { name: 'CI', count: 1 },
    ]);
    expect(plan.byScope).toEqual([
      { name: 'read', count: 3 },
      { name: 'write', count: 1 },
    ]);
  });

  test('keeps the caller’s own token, and says so', () => {
    const plan = planOf([token({ id: 1 }), token({ id: 2 })], [2]);
    expect(plan.tokenIds).toEqual([1]);
    expect(plan.kept).toEqual([{ tokenId: 2, reason: expect.stringContaining('credential') }]);
    expect(plan.accessPaths.map(({ remedy }) => remedy)).toEqual([
      'Revoke it last with `tokenctl tokens revoke --context rest --id 2 --include-own`, or from another account.',
    ]);
    expect(plan.accessPaths).toMatchObject([{ path: 'own_token', state: 'open', covered: false, count: 1 }]);
    expect(plan.byUser).toEqual([{ name: 'alice', count: 1 }]);
  });

  test('plans the caller’s own tokens last where they are included', () => {
    const plan = planOf([token({ id: 1 }), token({ id: 2, user: bob }), token({ id: 3 })], [1], true);
    expect(plan.tokenIds).toEqual([2, 3, 1]);
    expect(plan.ownTokenIds).toEqual([1]);
    expect(plan.owners).toEqual(['bob', 'alice', 'alice']);
    expect(plan.kept).toEqual([]);
  });

  test('has every token once, ascending, with its owner, whatever the order of arrival', () => {
    const ids = fc.uniqueArray(fc.integer({ min: 1, max: 10_000 }), { maxLength: 200 });
    fc.assert(
      fc.property(ids, fc.array(fc.nat(10_000)), fc.boolean(), (all, own, includeOwn) => {
        const plan = planOf(
          all.map((id) => token({ id, user: { id, username: `user${id}` } })),
          own,
          includeOwn,
        );
        const kept = plan.kept.map(({ tokenId }) => tokenId);
        expect([...plan.tokenIds, ...kept].sort()).toEqual([...all].sort());
        expect(plan.owners).toEqual(plan.tokenIds.map((id) => `user${id}`));
        expect(plan.digest).toBe(planDigest(plan.tokenIds));
        const others = plan.tokenIds.slice(0, plan.tokenIds.length - plan.ownTokenIds.length);
        expect(others).toEqual([...others].sort((a, b) => a - b));
        expect(others.filter((id) => own.includes(id))).toEqual([]);
      }),
    );
  });
});

describe('refresh tokens in a plan', () => {
  const reach = { refreshTokens: true, authorizationCodes: true, sessions: false };

  test('are planned by themselves unless they are beside a token of the plan, or a kept one', () => {
    const builder = new PlanBuilder({
      context: 'rest',
      selection: '',
      ownTokenIds: [2],
      includeOwn: false,
      reach,
    });
    for (const id of [1, 2]) builder.add(token({ id, hasRefreshToken: true }));
    for (const [id, accessTokenId] of [
      [14, 3],
      [11, 1],
      [12, 2],
      [13, null],
    ] as const) {
      builder.addRefreshToken(refreshToken({ id, accessTokenId, user: bob }));
    }
    expect(builder.build({ accessPaths: [], absentIds: [] })).toMatchObject({
      refreshTokenIds: [13, 14],
      refreshTokenOwners: ['bob', 'bob'],
      refreshTokensBeside: 1,
      byUser: [{ name: 'alice', count: 1 }],
    });
  });

  test('are counted as expired by their creation, orphaned ones excluded, where the lifetime is known', () => {
    const now = new Date('2026-11-20T10:00:00Z');
    const ago = (seconds: number) => new Date(now.getTime() - seconds * 1000);
    const built = (refreshExpiry?: { lifetime: number; now: Date }, along = reach) => {
      const builder = new PlanBuilder({
        ...{ context: 'db', selection: '', ownTokenIds: [], includeOwn: false, reach: along },
        ...(refreshExpiry && { refreshExpiry }),
      });
      builder.add(token({ id: 1, hasRefreshToken: true, created: ago(101) }));
      builder.add(token({ id: 2, hasRefreshToken: true, created: ago(100) }));
      builder.add(token({ id: 3, created: ago(101) }));
      builder.add(token({ id: 4, hasRefreshToken: true, created: ago(101), refreshTokenCreated: ago(99) }));
      builder.addRefreshToken(refreshToken({ id: 11, accessTokenId: 9, created: ago(101) }));
      builder.addRefreshToken(refreshToken({ id: 12, accessTokenId: null, created: ago(101) }));
      return builder.build({ accessPaths: [], absentIds: [] }).refreshTokensExpired;
    };
    expect(built({ lifetime: 100, now })).toBe(2);
    expect(built()).toBeNull();
    expect(built({ lifetime: 100, now }, { ...reach, refreshTokens: false })).toBeNull();
  });

  test('are not counted where they do not go along', () => {
    expect(planOf([token({ hasRefreshToken: true })])).toMatchObject({
      refreshTokensBeside: 0,
      reach: { refreshTokens: false, authorizationCodes: false, sessions: false },
    });
  });
});

describe('planDigest', () => {
  const reach = { refreshTokens: true, authorizationCodes: true, sessions: false };
  const nothing = {
    reach: { refreshTokens: false, authorizationCodes: false, sessions: false },
    refreshTokenIds: [],
    authorizationCodeIds: [],
    sessions: null,
  };
  const sha = (text: string) => createHash('sha256').update(text).digest('hex');

  test('of many ids is that of one text', () => {
    const ids = Array.from({ length: 10_000 }, (_, index) => index + 1);
    expect(planDigest(ids)).toBe(sha(ids.join(',')));
  });

  test('says what goes along, and is unchanged where nothing does', () => {
    expect(planDigest([1, 2], nothing)).toBe(sha('1,2'));
    expect(planDigest([1], { ...nothing, reach })).toBe(sha('1;refresh_tokens=beside'));
    expect(planDigest([1], { ...nothing, reach, refreshTokenIds: [3, 4] })).toBe(
      sha('1;refresh_tokens=beside,3,4'),
    );
    const sessions = { userIds: [5, 6], count: 9 };
    expect(planDigest([], { ...nothing, sessions })).toBe(sha(';sessions=5,6'));
    expect(planDigest([], { ...nothing, sessions: { userIds: 'all', count: 9 } })).toBe(sha(';sessions=all'));
  });

  test('is the SHA-256 of the ids with commas between', () => {
    expect(planDigest([1, 20, 3])).toBe(createHash('sha256').update('1,20,3').digest('hex'));
  });

  test('is the same for the same plan and another for any other', () => {
    fc.assert(
      fc.property(fc.array(fc.nat()), fc.array(fc.nat()), (one, other) => {
        expect(planDigest(one) === planDigest(other)).toBe(one.join() === other.join());
      }),
    );
  });
});
