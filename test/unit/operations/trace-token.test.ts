import { TokenctlError } from '@tokenctl/common/errors.ts';
import { describe, expect, test } from 'vitest';
import { traceResult } from '../../../src/cli/token-audit/trace-result.ts';
import type { Visibility } from '../../../src/domain/claims.ts';
import type { Activity } from '../../../src/domain/token.ts';
import { UseRecord } from '../../../src/operations/journal/own-uses.ts';
import { type TokenTrace, traceToken } from '../../../src/operations/token-audit/trace-token.ts';
import { noScreen } from '../../../src/reports/tables/text.ts';
import { fixture } from '../../support/fixture.ts';
import { databaseDescription, description } from '../../support/memory-target.ts';
import { token } from '../../support/tokens.ts';

const alice = { id: 2, username: 'alice' };

function activity(id: number, other: Partial<Activity> = {}): Activity {
  return {
    id,
    at: new Date(`2026-07-01T00:00:${String(id % 60).padStart(2, '0')}Z`),
    operation: 'update',
    actor: alice,
    object: 'job_template',
    changes: {},
    ...other,
  };
}

const made = activity(1, {
  at: new Date('2026-06-01'),
  operation: 'create',
  object: 'o_auth2_access_token',
  changes: { id: 3 },
});

async function stateOf(trace: TokenTrace, visibility: Visibility = { kind: 'all' }) {
  return /state: +(.*)/.exec(await traceResult(trace, visibility).text(noScreen))?.[1];
}

async function world(tokens = 5) {
  const all = await fixture(tokens);
  all.target.stream.push(
    made,
    activity(2, { at: new Date('2026-05-01') }),
    activity(3),
    activity(4, { actor: null }),
  );
  const trace = (tokenId: number) => traceToken({ ...all.common, tokenId });
  return { ...all, trace };
}

describe('traceToken', () => {
  test('puts together the token, its making and actions of its owner since', async () => {
    await using all = await world();
    const trace = await all.trace(3);
    expect(trace).toMatchObject({
      tokenId: 3,
      token: { id: 3 },
      made,
      history: [],
      entries: [],
      notTold: [],
    });
    expect(trace.ownerActivity).toMatchObject({ owner: alice, count: 2, more: false });
    expect(trace.ownerActivity?.last.map(({ id }) => id)).toEqual([1, 3]);
  });

  test('tells a use by tokenctl from one of the owner, and what it hid', async () => {
    await using all = await world();
    all.target.self = { ...databaseDescription(), address: all.target.self.address };
    const found = all.target.alive.get(3);
    if (found === undefined) throw new Error('no token');
    const { created } = found;
    const use = async (usedAt: Date, lastUsed?: Date | null) => {
      const record = new UseRecord(() => Promise.resolve(all.common));
      await record.begin({ values: 1, tokens: [{ id: 3, user: 'alice', created }] });
      const used = { ids: [3], user: 'alice', fingerprint: 'aaaaaaaaaaaa', usedAt };
      await record.end([{ ...used, ...(lastUsed !== undefined && { lastUsed }) }]);
      all.target.alive.set(3, { ...found, lastUsed: usedAt });
    };
    const shown = async () => {
      const text = traceResult(await all.trace(3), { kind: 'all' }).text(noScreen);
      return /last used: +(.*)\n +(.*)/.exec(await text)?.slice(1);
    };
    expect((await all.trace(3)).ownUse).toBeNull();
    await use(new Date('2026-10-01T10:00:00Z'));
    expect((await all.trace(3)).ownUse).toMatchObject({ at: new Date('2026-10-01T10:00:00Z'), isLast: true });
    expect(await shown()).toEqual([
      '2026-10-01T10:00:00Z',
      'by tokenctl, while searching for a leaked token; the last use before that: not known',
    ]);
    await use(new Date('2026-10-02T10:00:00Z'), null);
    expect((await shown())?.[1]).toMatch(/before that: never$/);
    // The owner used it since.
    all.target.alive.set(3, { ...found, lastUsed: new Date('2026-10-03T10:00:00Z') });
    expect((await all.trace(3)).ownUse).toMatchObject({ isLast: false });
    expect((await shown())?.[1]).toBe(
      'tokenctl used it at 2026-10-02T10:00:00Z to search for a leaked token',
    );
    // A later token with the same id.
    all.target.alive.set(3, { ...found, created: new Date('2026-10-04T10:00:00Z') });
    expect((await all.trace(3)).ownUse).toBeNull();
  });

  test('gives the last of what a busy owner did, and how much it was', async () => {
    await using all = await world();
    for (let id = 10; id < 110; id += 1) all.target.stream.push(activity(id));
    const { ownerActivity } = await all.trace(3);
    expect(ownerActivity?.count).toBe(102);
    expect(ownerActivity?.last.map(({ id }) => id)).toEqual(
      Array.from({ length: 20 }, (_, index) => index + 90),
    );
  });

  test('counts the uses that a gateway records, and does not take them for changes', async () => {
    await using all = await world();
    const use = { object: 'o_auth2_access_token', changes: { id: 3, scope: ['write', 'write read'] } };
    for (let id = 10; id < 110; id += 1) all.target.stream.push(activity(id, use));
    const trace = await all.trace(3);
    expect(trace.history).toEqual([]);
    expect(trace.recordedUses).toMatchObject({ count: 100, first: activity(10).at });
    expect(trace.ownerActivity).toMatchObject({ count: 2 });
    const text = await traceResult(trace, { kind: 'all' }).text(noScreen);
    expect(text).toMatch(/^100 requests with it in the activity stream, from /m);
  });

  test('names the entries of the audit log, with what became of the token', async () => {
    await using all = await world();
    all.target.onRevoke = (id) => (id === 4 ? 'failed' : undefined);
    await all.revokeAll();
    const gone = await all.trace(3);
    expect(gone.token).toBeNull();
    expect(gone.entries.map(({ kind, operation, result }) => [kind, operation, result])).toEqual([
      ['intent', 'tokens.revoke', null],
      ['outcome', 'tokens.revoke', 'revoked'],
    ]);
    expect(await stateOf(gone)).toMatch(/^revoked by tokenctl, recorded at 2\S+Z in the audit log$/);
    expect(await stateOf({ ...gone, entries: [], history: [] })).toBe('not in the list of all tokens');
    const limited = { kind: 'part', tokens: '', users: '', applications: '', organizations: [] } as const;
    expect(await stateOf({ ...gone, entries: [], history: [] }, limited)).toBe(
      'deleted, or not visible to you',
    );
    expect((await all.trace(4)).entries.map(({ result }) => result)).toContain('failed');
    const { entries } = await traceToken({ ...all.common, log: all.log, tokenId: 5 });
    expect(entries.length).toBeGreaterThan(0);
  });

  test('leaves out entries of another target, and ids that are not tokens’', async () => {
    await using all = await world();
    const entry = { kind: 'note' as const, operation: 'x', run: 'r', actor: {} };
    const here = { context: 'test', address: description().address };
    await all.log.append({ ...entry, target: { ...here, address: 'https://other' }, data: { token: 3 } });
    await all.log.append({ ...entry, target: here, data: { step: 'refresh_tokens', ids: [3] } });
    await all.log.append({ ...entry, target: here, data: { threshold: 3, planned: 3 } });
    expect((await all.trace(3)).entries).toEqual([]);
    await all.log.append({ ...entry, target: here, data: { token: 3 } });
    expect((await all.trace(3)).entries).toHaveLength(1);
  });

  test('lists no run for the number of tokens or the ids of other things in it', async () => {
    await using all = await world();
    await all.revokeAll({ selector: { ids: [1, 2, 5] } });
    // Three tokens were revoked: token 3 was not.
    expect((await all.trace(3)).entries).toEqual([]);
    const entry = { kind: 'note' as const, operation: 'users.offboard', run: 'r', actor: {} };
    const target = { context: 'test', address: description().address };
    for (const data of [
      { step: 'operation', planned: 3, revoked: 3, failed: 3, stillAlive: 3 },
      { step: 'users', changed: [3], unchanged: [3], failed: [{ id: 3, reason: 'no' }] },
      { step: 'refresh_token_rows', deleted: [3], unchanged: [3] },
      { step: 'batch', revoked: [7], refreshTokens: [3] },
    ]) {
      await all.log.append({ ...entry, target, data });
    }
    expect((await all.trace(3)).entries).toEqual([]);
    await all.log.append({ ...entry, target, data: { step: 'operation', kept: [3] } });
    await all.log.append({
      ...entry,
      target,
      data: { step: 'batch', reconciled: true, gone: [3], alive: [] },
    });
    expect((await all.trace(3)).entries).toHaveLength(2);
  });

  test('traces a token that is gone by what the activity stream says', async () => {
    await using all = await world(0);
    const deleted = activity(9, { operation: 'delete', object: 'o_auth2_access_token', changes: { id: 3 } });
    all.target.stream.push(deleted);
    const trace = await all.trace(3);
    expect(trace).toMatchObject({ token: null, made, history: [deleted] });
    expect(await stateOf(trace)).toBe('deleted at 2026-07-01T00:00:09Z, according to the activity stream');
    expect(trace.ownerActivity?.owner).toEqual(alice);
  });

  test('says what the target refused to tell', async () => {
    await using all = await world();
    all.target.activity = {
      ...all.target.activity,
      list: () => {
        throw new TokenctlError('permission_refused', 'Not for you');
      },
    };
    const trace = await all.trace(3);
    expect(trace.token?.id).toBe(3);
    expect(trace.notTold).toEqual([
      { what: 'history', why: 'Not for you' },
      { what: 'owner_activity', why: 'Not for you' },
    ]);
  });

  test('refuses a token that no one knows', async () => {
    await using all = await world();
    await expect(all.trace(99)).rejects.toMatchObject({ code: 'not_found' });
    all.target.alive.set(98, token({ id: 98, user: null }));
    expect((await all.trace(98)).ownerActivity).toBeNull();
  });
});
