import { TokenctlError } from '@tokenctl/common/errors.ts';
import { describe, expect, test } from 'vitest';
import {
  type ExpireSessionsOptions,
  expireSessions,
  planSessionExpiry,
} from '../../../src/operations/sessions/expire-sessions.ts';
import { listSessions } from '../../../src/operations/sessions/sessions.ts';
import { dryRun } from '../../../src/targets/dry-run.ts';
import { databaseFixture, failingFrom, fixture } from '../../support/fixture.ts';
import { session } from '../../support/memory-sessions.ts';
import { collected } from '../../support/test-target.ts';

const bob = { id: 3, username: 'bob' };

async function estate() {
  const at = await databaseFixture();
  const { live } = at.target.logins;
  live.push(
    session(),
    session({ user: bob, fingerprint: 'dddddddddddd' }),
    session({ user: null }),
    session(),
  );
  const expire = async (users?: readonly string[], other: Partial<ExpireSessionsOptions> = {}) => {
    const plan = await planSessionExpiry({ target: at.target, ...(users && { users }) });
    return await expireSessions({ ...at.common, plan, ...other });
  };
  return { ...at, common: at.common, live, expire };
}

describe('planSessionExpiry', () => {
  test('counts every session by user, those of no one known included', async () => {
    const { target } = await estate();
    expect(await planSessionExpiry({ target })).toEqual({
      selection: 'every session',
      sessions: { userIds: 'all', count: 4 },
      byUser: [
        { name: 'alice', count: 2 },
        { name: '(no user known)', count: 1 },
        { name: 'bob', count: 1 },
      ],
    });
  });

  test('counts those of the named users, and none where they have none', async () => {
    const { target } = await estate();
    expect(await planSessionExpiry({ target, users: ['bob', 'admin'] })).toMatchObject({
      selection: 'sessions of bob or admin',
      sessions: { userIds: [1, 3], count: 1 },
    });
  });

  test('refuses a user that does not exist, and a target without sessions', async () => {
    await using at = await fixture();
    const { target } = await estate();
    await expect(planSessionExpiry({ target, users: ['nobody'] })).rejects.toMatchObject({
      code: 'not_found',
    });
    await expect(planSessionExpiry({ target: at.target })).rejects.toMatchObject({ code: 'unsupported' });
  });
});

test('listSessions streams those of the named users, or all', async () => {
  const { target } = await estate();
  expect(await collected(listSessions({ target }))).toHaveLength(4);
  expect(await collected(listSessions({ target, users: ['bob'] }))).toMatchObject([{ user: bob }]);
  await expect(collected(listSessions({ target, users: ['nobody'] }))).rejects.toMatchObject({
    code: 'not_found',
  });
});

describe('expireSessions', () => {
  test('ends one user’s sessions, records them, and reads again', async () => {
    const at = await estate();
    const report = await at.expire(['bob'], { reason: 'laptop stolen' });
    expect(report).toMatchObject({
      planned: 1,
      ended: 1,
      stillAlive: 0,
      begunSince: 0,
      verified: true,
      interrupted: false,
      stopped: null,
    });
    expect(at.live).toHaveLength(3);
    const entries = await at.entries();
    expect(entries).toMatchObject([
      {
        kind: 'intent',
        operation: 'sessions.expire',
        data: { planned: 1, users: 1, reason: 'laptop stolen' },
      },
      { kind: 'intent', data: { step: 'sessions', users: [3] } },
      { kind: 'outcome', closes: 2, data: { ended: 1, fingerprints: ['dddddddddddd'] } },
      { kind: 'outcome', closes: 1, open: [], data: { ended: 1, verified: true } },
    ]);
  });

  test('ends all, and has nothing to do the second time', async () => {
    const at = await estate();
    expect(await at.expire()).toMatchObject({ planned: 4, ended: 4, verified: true });
    expect(await at.expire()).toMatchObject({ planned: 0, ended: 0, verified: true });
  });

  test('says which stayed', async () => {
    const at = await estate();
    at.target.logins.onEnd = ({ user }) => (user === null ? 'kept' : undefined);
    expect(await at.expire()).toMatchObject({ stillAlive: 1, verified: false });
  });

  test('throws where none could be ended, and leaves nothing open', async () => {
    const at = await estate();
    at.target.logins.onEnd = () => {
      throw new TokenctlError('permission_refused', 'Not this role');
    };
    await expect(at.expire()).rejects.toMatchObject({ code: 'permission_refused' });
    expect((await at.entries()).at(-1)?.open).toEqual([]);
  });

  test('records what it did before a fault of its own', async () => {
    const at = await estate();
    at.target.logins.onEnd = ({ user }) => {
      if (user === null) throw new TypeError('a bug');
      return undefined;
    };
    await expect(at.expire()).rejects.toThrow('a bug');
    expect((await at.entries()).at(-1)?.data).toMatchObject({ step: 'sessions', ended: 2 });
  });

  test('begins nothing after a signal', async () => {
    const at = await estate();
    const report = await at.expire(undefined, { signal: AbortSignal.abort() });
    expect(report).toMatchObject({ ended: 0, stillAlive: null, verified: false, interrupted: true });
    expect(at.target.logins.live.length).toBe(4);
  });

  test('of many users has several intents, each with no more than a thousand', async () => {
    const at = await estate();
    const userIds = Array.from({ length: 2500 }, (_, index) => index + 1);
    const plan = { selection: 'many', sessions: { userIds, count: 3 }, byUser: [] };
    expect(await expireSessions({ ...at.common, plan })).toMatchObject({ ended: 3, verified: true });
    const intents = (await at.entries()).filter(
      ({ kind, data }) => kind === 'intent' && data['step'] === 'sessions',
    );
    expect(intents.map(({ data }) => (data['users'] as number[]).length)).toEqual([1000, 1000, 500]);
  });

  test('no log, no act; and a dry run ends none', async () => {
    const at = await estate();
    for (const attempt of [1, 2]) {
      const work = at.expire(undefined, { log: failingFrom(at.log, attempt) });
      await expect(work).rejects.toMatchObject({ code: 'audit_unavailable' });
    }
    expect(await at.expire(undefined, { target: dryRun(at.target) })).toMatchObject({ ended: 0 });
    expect(at.live).toHaveLength(4);
  });
});
