import { describe, expect, test } from 'vitest';
import { type CleanupTokensOptions, cleanupTokens } from '../../../src/operations/cleanup/cleanup-tokens.ts';
import { type PlanCleanupOptions, planCleanup } from '../../../src/operations/cleanup/plan-cleanup.ts';
import {
  listRefreshTokens,
  type RefreshTokenList,
} from '../../../src/operations/tokens/list-refresh-tokens.ts';
import { dryRun } from '../../../src/targets/dry-run.ts';
import { stillClock } from '../../support/drafts.ts';
import { databaseFixture, failingFrom } from '../../support/fixture.ts';
import { refreshToken } from '../../support/memory-refresh-tokens.ts';
import { description, installed } from '../../support/memory-target.ts';
import { collected } from '../../support/test-target.ts';
import { token } from '../../support/tokens.ts';

const DAY = 86_400_000;
const now = stillClock.now().getTime();
const ago = (days: number) => new Date(now - days * DAY);
const expires = ago(1);

/**
 * Access tokens: 1 lives; 2 has expired; 3 has expired with the live refresh token 13; 4 has expired with
 * the expired refresh token 14; 5 lives with the expired refresh token 15. Refresh tokens besides: 16 was
 * revoked 40 days ago, 17 yesterday; 18 is an orphan, 19 one of this second.
 */
async function estate() {
  const at = await databaseFixture(1);
  for (const [id, over] of [
    [2, false],
    [3, true],
    [4, true],
  ] as const) {
    at.target.alive.set(id, token({ id, expires, hasRefreshToken: over }));
  }
  at.target.alive.set(5, token({ id: 5, hasRefreshToken: true }));
  for (const row of [
    refreshToken({ id: 13, accessTokenId: 3 }),
    refreshToken({ id: 14, accessTokenId: 4, created: ago(31) }),
    refreshToken({ id: 15, accessTokenId: 5, created: ago(31) }),
    refreshToken({ id: 16, created: ago(50), revoked: ago(40) }),
    refreshToken({ id: 17, created: ago(50), revoked: ago(1) }),
    refreshToken({ id: 18, created: ago(50) }),
    refreshToken({ id: 19, created: new Date(now - 1000) }),
  ]) {
    at.target.refresh.rows.set(row.id, row);
  }
  const { target } = at;
  const plan = (other: Partial<PlanCleanupOptions> = {}) =>
    planCleanup({ target, clock: stillClock, keepRevokedFor: 30 * DAY, ...other });
  const clean = async (other: Partial<CleanupTokensOptions> & { limit?: number } = {}) => {
    const { limit, ...options } = other;
    return await cleanupTokens({
      ...at.common,
      plan: await plan(limit === undefined ? {} : { limit }),
      ...options,
    });
  };
  return { ...at, common: at.common, plan, clean };
}

describe('planCleanup', () => {
  test('finds what is over by kind, and keeps what can still be used', async () => {
    const { plan } = await estate();
    expect(await plan()).toEqual({
      ids: {
        expiredAuthorizationCodes: [],
        expiredRefreshTokens: [14, 15],
        revokedRefreshTokens: [16],
        orphanedRefreshTokens: [18],
        expiredAccessTokens: [2, 4],
      },
      counts: {
        expiredAuthorizationCodes: 0,
        expiredRefreshTokens: 2,
        revokedRefreshTokens: 1,
        orphanedRefreshTokens: 1,
        expiredAccessTokens: 2,
      },
      total: 6,
      kept: 1,
      limited: false,
      notPossible: null,
      notSeen: null,
    });
  });

  test('stops at the limit, and frees no access token whose refresh token has to wait', async () => {
    const { plan } = await estate();
    expect(await plan({ limit: 1 })).toMatchObject({ total: 1, limited: true });
    expect(await plan({ limit: 5 })).toMatchObject({
      total: 5,
      limited: true,
      ids: { expiredAccessTokens: [2] },
    });
    expect(await plan({ limit: 6 })).toMatchObject({ total: 6, limited: false });
  });

  test('takes no refresh token for expired where the setting reads 0', async () => {
    const { plan, target } = await estate();
    const { OAUTH2_PROVIDER } = installed;
    target.values = {
      ...installed,
      OAUTH2_PROVIDER: { ...OAUTH2_PROVIDER, REFRESH_TOKEN_EXPIRE_SECONDS: 0 },
    };
    expect(await plan()).toMatchObject({
      ids: { expiredRefreshTokens: [], expiredAccessTokens: [2] },
      kept: 2,
    });
  });

  test('over REST has only expired access tokens without a refresh token, and says so', async () => {
    const { plan, target } = await estate();
    target.self = description();
    expect(await plan()).toMatchObject({
      total: 1,
      ids: { expiredAccessTokens: [2] },
      kept: 2,
      notPossible: expect.stringContaining('database'),
    });
  });
});

describe('cleanupTokens', () => {
  test('deletes refresh tokens first, then access tokens, and records it', async () => {
    const at = await estate();
    expect(await at.clean()).toMatchObject({
      planned: 6,
      deleted: 6,
      kept: 1,
      interrupted: false,
      stopped: null,
      byKind: {
        expiredRefreshTokens: { planned: 2, deleted: 2, unchanged: 0, failed: [], notTried: 0 },
        revokedRefreshTokens: { deleted: 1 },
        orphanedRefreshTokens: { deleted: 1 },
        expiredAccessTokens: { deleted: 2 },
      },
    });
    expect([...at.target.refresh.rows.keys()]).toEqual([13, 17, 19]);
    expect([...at.target.alive.keys()]).toEqual([1, 3, 5]);
    const entries = await at.entries();
    expect(entries[0]).toMatchObject({ operation: 'tokens.cleanup', data: { planned: 6 } });
    expect(entries.filter(({ kind }) => kind === 'outcome').map(({ data }) => data)).toMatchObject([
      { step: 'refresh_token_rows', deleted: [14, 15] },
      { step: 'refresh_token_rows', deleted: [16] },
      { step: 'refresh_token_rows', deleted: [18] },
      { step: 'batch', revoked: [2, 4] },
      { step: 'operation', deleted: 6, expiredAccessTokens: { deleted: 2 } },
    ]);
  });

  test('has nothing to do the second time, and less after a limit', async () => {
    const at = await estate();
    expect(await at.clean({ limit: 2 })).toMatchObject({ deleted: 2, limited: true });
    expect(await at.clean()).toMatchObject({ deleted: 4 });
    expect(await at.clean()).toMatchObject({ planned: 0, deleted: 0 });
  });

  test('reports what failed, and leaves no refresh token alive beside a deleted access token', async () => {
    const at = await estate();
    at.target.refresh.onChange = (id) => (id === 14 ? 'failed' : undefined);
    expect(await at.clean()).toMatchObject({
      deleted: 5,
      byKind: { expiredRefreshTokens: { deleted: 1, failed: [{ tokenId: 14 }] } },
    });
    expect(at.target.refresh.rows.get(14)?.revoked).not.toBeNull();
  });

  test('on a signal finishes the batch and begins no other', async () => {
    const at = await estate();
    const signal = new AbortController();
    at.target.refresh.onChange = () => {
      signal.abort();
      return undefined;
    };
    expect(await at.clean({ signal: signal.signal })).toMatchObject({ deleted: 2, interrupted: true });
    expect((await at.entries()).at(-1)?.open).toEqual([]);
  });

  test('no log, no act; and a dry run deletes nothing', async () => {
    const at = await estate();
    for (const attempt of [1, 2]) {
      await expect(at.clean({ log: failingFrom(at.log, attempt) })).rejects.toMatchObject({
        code: 'audit_unavailable',
      });
    }
    expect(await at.clean({ target: dryRun(at.target) })).toMatchObject({ deleted: 0 });
    expect([at.target.alive.size, at.target.refresh.rows.size]).toEqual([5, 7]);
  });

  test('closes what a run left open whose log failed', async () => {
    const at = await estate();
    await expect(at.clean({ log: failingFrom(at.log, 3) })).rejects.toMatchObject({
      code: 'outcome_unrecorded',
    });
    await at.clean();
    const entries = await at.entries();
    expect(entries.at(-1)?.open).toEqual([]);
    expect(entries.find(({ data }) => data['reconciled'] === true && data['gone'])).toMatchObject({
      data: { step: 'refresh_token_rows', gone: [14, 15], alive: [] },
    });
  });
});

test('listRefreshTokens streams by state and user, and refuses an unknown one', async () => {
  const { target, common } = await estate();
  const { clock } = common;
  const list = (selector: RefreshTokenList, lifetime: number | null = 2_628_000) =>
    collected(listRefreshTokens({ target, selector, lifetime, clock }));
  const ids = async (selector: RefreshTokenList, lifetime?: number | null) =>
    (await list(selector, lifetime)).map(({ id }) => id);
  const unrevoked = await ids({ states: ['live', 'expired'] });
  const [oldest, ...others] = (await list({ states: ['live', 'expired'] })).toSorted(
    (a, b) => a.created.getTime() - b.created.getTime(),
  );
  const age = Math.floor((clock.now().getTime() - (oldest?.created.getTime() ?? 0)) / 1000);
  expect(others.length).toBeGreaterThan(0);
  expect(await ids({ states: ['expired'] }, age - 1)).toContain(oldest?.id);
  expect(await ids({ states: ['live'] }, age + 1)).toEqual(unrevoked);
  expect(await ids({ states: ['expired'] }, age + 1)).toEqual([]);
  expect(await ids({ states: ['live'] }, null)).toEqual(unrevoked);
  await expect(ids({ states: ['expired'] }, null)).rejects.toMatchObject({ code: 'unsupported' });
  expect(await ids({ states: ['orphaned'] })).toEqual([18, 19]);
  expect(await ids({ users: ['alice'], states: ['revoked'] })).toEqual([16, 17]);
  await expect(ids({ users: ['nobody'] })).rejects.toMatchObject({ code: 'not_found' });
});
