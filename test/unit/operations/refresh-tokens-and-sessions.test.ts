import { TokenctlError } from '@tokenctl/common/errors.ts';
import { describe, expect, test } from 'vitest';
import type { TargetDescription } from '../../../src/operations/ports/target.ts';
import { planRevocation } from '../../../src/operations/revocation/plan-revocation.ts';
import { revokeTokens } from '../../../src/operations/revocation/revoke-tokens.ts';
import { dryRun } from '../../../src/targets/dry-run.ts';
import { stillClock } from '../../support/drafts.ts';
import { databaseFixture, failingFrom, fixture } from '../../support/fixture.ts';
import { refreshToken } from '../../support/memory-refresh-tokens.ts';
import { session } from '../../support/memory-sessions.ts';
import type { MemoryTarget } from '../../support/memory-target.ts';
import { token } from '../../support/tokens.ts';

const clock = stillClock;
const alice = { id: 2, username: 'alice' };
const bob = { id: 3, username: 'bob' };
const application = { id: 1, name: 'CI' };

/**
 * Alice's personal token 1; her application token 2 with the refresh token 12 beside it, her orphan 13, her
 * revoked 14; bob's token 3 with 15. Two sessions of alice, one of bob, one of no one known.
 */
async function estate() {
  const at = await databaseFixture(1);
  const { alive, refresh, logins, programs } = at.target;
  programs.push({ ...application, clientType: 'public', grantType: 'password', created: new Date(0) });
  alive.set(2, token({ id: 2, application, hasRefreshToken: true, fingerprint: 'cccccccccccc' }));
  alive.set(3, token({ id: 3, application, user: bob, hasRefreshToken: true }));
  for (const row of [
    refreshToken({ id: 12, accessTokenId: 2 }),
    refreshToken({ id: 13 }),
    refreshToken({ id: 14, revoked: new Date('2026-11-01') }),
    refreshToken({ id: 15, accessTokenId: 3, user: bob }),
  ]) {
    refresh.rows.set(row.id, row);
  }
  logins.live.push(session(), session(), session({ user: bob }), session({ user: null }));
  return at;
}

function living({ refresh }: MemoryTarget): number[] {
  return [...refresh.rows.values()].filter(({ revoked }) => revoked === null).map(({ id }) => id);
}

/** The refusal of a plan with sessions at a target that is described so. */
async function refusalAt(
  kind: typeof fixture,
  other: Partial<Pick<TargetDescription, 'dialect' | 'missingRights'>>,
): Promise<unknown> {
  await using at = await kind(1);
  const { self } = at.target;
  at.target.self = { ...self, ...other };
  at.target.lacks = ['sessions'];
  return await planRevocation({
    ...{ target: at.target, selector: { all: true }, clock },
    withSessions: true,
  }).catch((error: unknown) => error);
}

describe('a plan with sessions where none are listed is refused', () => {
  test('over REST with what does it instead', async () => {
    expect(await refusalAt(fixture, { dialect: 'controller' })).toMatchObject({
      code: 'unsupported',
      hint: 'Use a database context, or run `awx-manage expire_sessions` on the server.',
    });
    expect(await refusalAt(fixture, { dialect: 'service' })).toMatchObject({
      code: 'unsupported',
      hint: 'Use a database context.',
    });
    expect(await refusalAt(fixture, { dialect: 'gateway' })).toMatchObject({
      code: 'unsupported',
      hint: 'Use a database context. This requires a recent gateway release.',
    });
  });

  test('by a database with what it lacks', async () => {
    const grant = 'GRANT SELECT ON public.django_session TO reader';
    expect(await refusalAt(databaseFixture, { missingRights: [{ purpose: 'read', grant }] })).toMatchObject({
      code: 'permission_refused',
      hint: `Grant it these permissions: ${grant}.`,
    });
    expect(await refusalAt(databaseFixture, { dialect: 'gateway' })).toMatchObject({
      code: 'unsupported',
      hint: expect.stringContaining('`DELETE FROM django_session`'),
    });
  });
});

describe('a plan with refresh tokens and sessions', () => {
  test('of everything has those beside access tokens by number, and orphans by id', async () => {
    await using at = await estate();
    const plan = await planRevocation({ target: at.target, selector: { all: true }, clock });
    expect(plan).toMatchObject({
      tokenIds: [1, 2, 3],
      reach: { refreshTokens: true, sessions: false },
      refreshTokensBeside: 2,
      refreshTokenIds: [13],
      refreshTokenOwners: ['alice'],
      sessions: null,
      accessPaths: [{ path: 'sessions' }, { path: 'basic_authentication' }],
    });
  });

  test('of a user has that user’s orphans, and those beside an access token that is not selected', async () => {
    await using at = await estate();
    at.target.refresh.rows.set(16, refreshToken({ id: 16, accessTokenId: 3 }));
    const plan = await planRevocation({ target: at.target, selector: { users: ['alice'] }, clock });
    expect(plan).toMatchObject({ tokenIds: [1, 2], refreshTokensBeside: 1, refreshTokenIds: [13, 16] });
    expect(
      await planRevocation({ target: at.target, selector: { applications: ['CI'] }, clock }),
    ).toMatchObject({ tokenIds: [2, 3], refreshTokensBeside: 2, refreshTokenIds: [13] });
  });

  test('with another criterion has only those beside', async () => {
    await using at = await estate();
    const selector = { users: ['alice'], scope: 'read' } as const;
    const plan = await planRevocation({ target: at.target, selector, clock });
    expect(plan).toMatchObject({ refreshTokensBeside: 1, refreshTokenIds: [] });
  });

  test('with access tokens only has none, and says that they stay alive', async () => {
    await using at = await estate();
    const plan = await planRevocation({
      target: at.target,
      selector: { all: true },
      clock,
      accessOnly: true,
    });
    expect(plan).toMatchObject({
      reach: { refreshTokens: false },
      refreshTokensBeside: 0,
      refreshTokenIds: [],
      accessPaths: expect.arrayContaining([expect.objectContaining({ path: 'refresh_tokens', count: 2 })]),
    });
  });

  test('keeps the refresh token of the caller’s own token', async () => {
    await using at = await estate();
    at.target.own = [2];
    const plan = await planRevocation({ target: at.target, selector: { users: ['alice'] }, clock });
    expect(plan).toMatchObject({ tokenIds: [1], refreshTokensBeside: 0, refreshTokenIds: [13] });
  });

  test.each([
    ['all', { all: true }, { userIds: 'all', count: 4 }],
    ['named users, also without tokens', { users: ['alice', 'admin'] }, { userIds: [1, 2], count: 2 }],
    ['the owners of the tokens', { ids: [3] }, { userIds: [3], count: 1 }],
    ['nobody', { ids: [999] }, { userIds: [], count: 0 }],
  ] as const)('ends the sessions of %s', async (_, selector, sessions) => {
    await using at = await estate();
    const plan = await planRevocation({ target: at.target, selector, clock, withSessions: true });
    expect(plan.sessions).toEqual(sessions);
  });

  test('refuses sessions where the target has none', async () => {
    await using at = await fixture(1);
    const work = planRevocation({ target: at.target, selector: { all: true }, clock, withSessions: true });
    await expect(work).rejects.toMatchObject({ code: 'unsupported' });
  });

  test('counts refresh tokens by themselves against the limit', async () => {
    await using at = await estate();
    const plan = (atMost: number) =>
      planRevocation({ target: at.target, selector: { all: true }, clock, atMost });
    await expect(plan(3)).rejects.toMatchObject({ code: 'plan_too_large', details: { planned: 4 } });
    expect((await plan(4)).tokenIds).toHaveLength(3);
  });

  test('asks no one what the target can do where that is given', async () => {
    await using at = await estate();
    const { self } = at.target;
    at.target.describe = () => Promise.reject(new Error('asked twice'));
    const plan = await planRevocation({
      target: at.target,
      selector: { all: true },
      clock,
      description: self,
    });
    expect(plan.reach.refreshTokens).toBe(true);
  });
});

describe('revoking with refresh tokens and sessions', () => {
  test('revokes refresh tokens, access tokens, ends sessions, in this order, and reads all again', async () => {
    await using at = await estate();
    const kinds: string[] = [];
    const report = await at.revokeAll({
      withSessions: true,
      onOutcome: ({ tokenId }, kind) => kinds.push(`${kind} ${tokenId}`),
    });
    expect(kinds).toEqual(['refresh_token 13', 'access_token 1', 'access_token 2', 'access_token 3']);
    expect(report).toMatchObject({
      planned: 3,
      revoked: 3,
      verified: true,
      refreshTokens: { planned: 3, revoked: 3, unchanged: 0, failed: [], notTried: 0, stillAlive: [] },
      sessions: { planned: 4, ended: 4, stillAlive: 0, begunSince: 0 },
    });
    expect(at.target.alive.size).toBe(0);
    expect(living(at.target)).toEqual([]);
    expect(at.target.logins.live).toEqual([]);
    const entries = await at.entries();
    expect(entries.map(({ kind, data }) => `${kind} ${data['step']}`)).toEqual([
      'intent operation',
      'intent refresh_tokens',
      'outcome refresh_tokens',
      'intent batch',
      'outcome batch',
      'intent sessions',
      'outcome sessions',
      'outcome operation',
    ]);
    expect(entries.map(({ data }) => data)).toMatchObject([
      { refreshTokens: { beside: 2, alone: 1 }, sessions: { planned: 4, users: 'all' } },
      { tokens: [{ user: 'alice', ids: [13] }] },
      { revoked: [13], fingerprints: ['bbbbbbbbbbbb'] },
      {
        tokens: [
          { user: 'alice', ids: [1, 2] },
          { user: 'bob', ids: [3] },
        ],
      },
      {
        revoked: [1, 2, 3],
        fingerprints: [null, 'cccccccccccc', null],
        refreshTokens: [12, 15],
        refreshFingerprints: ['bbbbbbbbbbbb', 'bbbbbbbbbbbb'],
      },
      { users: 'all' },
      { ended: 4, fingerprints: Array.from({ length: 4 }, () => 'aaaaaaaaaaaa') },
      { refreshTokens: { revoked: 3, stillAlive: 0 }, sessions: { ended: 4 }, verified: true },
    ]);
  });

  test('says null of what it left alone', async () => {
    await using at = await estate();
    const report = await at.revokeAll({ accessOnly: true });
    expect(report).toMatchObject({ revoked: 3, refreshTokens: null, sessions: null, verified: true });
    expect(living(at.target)).toEqual([12, 13, 15]);
    expect(at.target.logins.live).toHaveLength(4);
  });

  test('run again, finds nothing more to do', async () => {
    await using at = await estate();
    const plan = await planRevocation({
      target: at.target,
      selector: { all: true },
      clock,
      withSessions: true,
    });
    await revokeTokens({ ...at.common, plan });
    expect(await revokeTokens({ ...at.common, plan })).toMatchObject({
      revoked: 0,
      unchanged: 3,
      refreshTokens: { revoked: 0, unchanged: 1 },
      sessions: { ended: 0, stillAlive: 0 },
      verified: true,
    });
  });

  test('reports a refresh token that failed, and one that is alive although it was "revoked"', async () => {
    await using at = await estate();
    at.target.refresh.rows.set(16, refreshToken({ id: 16 }));
    at.target.refresh.onChange = (id) => (id === 13 ? 'failed' : 'revoked');
    expect(await at.revokeAll()).toMatchObject({
      verified: false,
      refreshTokens: { failed: [{ tokenId: 13, reason: 'as told' }], stillAlive: [13, 16] },
    });
  });

  test('counts what someone made or orphaned while it worked, and what failed is none of that', async () => {
    await using at = await estate();
    const { alive, refresh } = at.target;
    at.target.onRevoke = (id) => {
      if (id === 2) {
        // A refresh: the old pair is gone, and a new one there.
        alive.delete(2);
        refresh.rows.set(12, refreshToken({ id: 12, revoked: clock.now() }));
        alive.set(4, token({ id: 4, application, hasRefreshToken: true }));
        refresh.rows.set(16, refreshToken({ id: 16, accessTokenId: 4 }));
        return 'unchanged';
      }
      if (id !== 3) return undefined;
      // Someone else deletes an access token alone: its refresh token is an orphan that no one planned.
      alive.delete(3);
      refresh.rows.set(15, refreshToken({ id: 15, user: bob }));
      return 'unchanged';
    };
    expect(await at.revokeAll({ selector: { all: true } })).toMatchObject({
      revoked: 1,
      unchanged: 2,
      verified: true,
      madeSince: { accessTokens: 1, refreshTokens: 2 },
    });
    const last = (await at.entries()).at(-1);
    expect(last?.data).toMatchObject({ madeSince: { accessTokens: 1, refreshTokens: 2 } });
    at.target.onRevoke = () => 'failed';
    expect(await at.revokeAll({ selector: { all: true } })).toMatchObject({
      failed: [{ tokenId: 4 }],
      madeSince: { accessTokens: 0, refreshTokens: 0 },
    });
  });

  test('lists access tokens again with criteria of single tokens, and without refresh tokens', async () => {
    await using at = await estate();
    const madeSince = { accessTokens: 0, refreshTokens: null };
    expect(await at.revokeAll({ selector: { scope: 'read' } })).toMatchObject({ madeSince });
    const accessOnly = { selector: { all: true }, accessOnly: true } as const;
    expect(await at.revokeAll(accessOnly)).toMatchObject({ madeSince });
  });

  test('tells sessions that stayed from those that began since', async () => {
    await using at = await estate();
    at.target.logins.onEnd = ({ user }) => {
      if (user?.id === bob.id) return 'kept';
      const fresh = session({ created: new Date(clock.now().getTime() + 1), user: alice });
      if (user === null) at.target.logins.live.push(fresh);
      return undefined;
    };
    expect(await at.revokeAll({ withSessions: true })).toMatchObject({
      verified: false,
      sessions: { planned: 4, ended: 4, stillAlive: 1, begunSince: 1 },
    });
  });

  test('is not verified where sessions cannot be read again', async () => {
    await using at = await estate();
    const { list } = at.target.logins;
    at.target.logins.list = (selector) => {
      if (at.target.alive.size === 0) throw new TokenctlError('target_unreachable', 'Gone away');
      return list.call(at.target.logins, selector);
    };
    expect(await at.revokeAll({ withSessions: true })).toMatchObject({
      revoked: 3,
      verified: false,
      verification: { result: 'not_checked', why: 'The target could not be read' },
      stopped: { message: 'Gone away' },
      sessions: { ended: 4, stillAlive: null },
    });
  });

  test('stops where sessions cannot be ended, and records how many were', async () => {
    await using at = await estate();
    at.target.logins.onEnd = ({ user }) => {
      if (user?.id === bob.id) throw new TokenctlError('permission_refused', 'Not this role');
      return undefined;
    };
    const report = await at.revokeAll({ withSessions: true });
    expect(report).toMatchObject({
      revoked: 3,
      verified: false,
      stopped: { code: 'permission_refused' },
      sessions: { planned: 4, ended: 2, stillAlive: null },
    });
    const entries = await at.entries();
    expect(entries.at(-1)?.open).toEqual([]);
    expect(entries.at(-2)?.data).toMatchObject({ step: 'sessions', ended: 2, reason: 'Not this role' });
  });

  test('on a signal during the refresh tokens begins neither access tokens nor sessions', async () => {
    await using at = await estate();
    const signal = new AbortController();
    at.target.refresh.onChange = () => {
      signal.abort();
      return undefined;
    };
    const report = await at.revokeAll({ withSessions: true, signal: signal.signal });
    expect(report).toMatchObject({
      interrupted: true,
      revoked: 0,
      notTried: 3,
      verification: { result: 'not_checked', why: 'Interrupted before everything was read again' },
      refreshTokens: { revoked: 1 },
      sessions: { ended: 0, stillAlive: null },
    });
    expect((await at.entries()).at(-1)?.open).toEqual([]);
    expect(at.target.alive.size).toBe(3);
  });

  test.each([1, 2])('changes nothing where the log fails at append %i', async (attempt) => {
    await using at = await estate();
    const work = at.revokeAll({ withSessions: true, log: failingFrom(at.log, attempt) });
    await expect(work).rejects.toMatchObject({ code: 'audit_unavailable' });
    expect([at.target.alive.size, living(at.target).length, at.target.logins.live.length]).toEqual([3, 3, 4]);
  });

  test.each([3, 4, 5, 6, 7, 8])(
    'says so where the log fails at append %i, and the next run finishes and closes all',
    async (attempt) => {
      await using at = await estate();
      const work = at.revokeAll({ withSessions: true, log: failingFrom(at.log, attempt) });
      await expect(work).rejects.toMatchObject({ code: 'outcome_unrecorded' });
      const report = await at.revokeAll({ withSessions: true });
      expect(report).toMatchObject({ verified: true, sessions: { stillAlive: 0 } });
      expect(at.target.alive.size + living(at.target).length + at.target.logins.live.length).toBe(0);
      const entries = await at.entries();
      expect(entries.at(-1)?.open).toEqual([]);
      expect(entries.filter(({ data }) => data['reconciled'] === true)).not.toEqual([]);
    },
  );

  test('in a dry run changes and ends nothing', async () => {
    await using at = await estate();
    const report = await at.revokeAll({ withSessions: true, target: dryRun(at.target) });
    expect(report).toMatchObject({ revoked: 0, unchanged: 3, sessions: { ended: 0, stillAlive: 4 } });
    expect([at.target.alive.size, living(at.target).length, at.target.logins.live.length]).toEqual([3, 3, 4]);
  });
});
