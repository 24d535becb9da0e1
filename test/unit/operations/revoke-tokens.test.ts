import { TokenctlError } from '@tokenctl/common/errors.ts';
import { describe, expect, test } from 'vitest';
import type { Entry } from '../../../src/operations/ports/audit-log.ts';
import { planRevocation } from '../../../src/operations/revocation/plan-revocation.ts';
import { revokeTokens } from '../../../src/operations/revocation/revoke-tokens.ts';
import { stillClock } from '../../support/drafts.ts';
import { failingFrom, fixture } from '../../support/fixture.ts';

/** Ids that batch intents list, and ids that batch outcomes report as revoked. */
function idsIn(entries: readonly Entry[]) {
  const intended = entries
    .filter(({ kind, data }) => kind === 'intent' && data['step'] === 'batch')
    .flatMap(({ data }) => (data['tokens'] as { ids: number[] }[]).flatMap(({ ids }) => ids));
  const revoked = entries
    .filter(({ kind, data }) => kind === 'outcome' && data['step'] === 'batch')
    .flatMap(({ data }) => (data['revoked'] as number[] | undefined) ?? []);
  return { intended: intended.sort((a, b) => a - b), revoked: revoked.sort((a, b) => a - b) };
}

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

describe('revokeTokens', () => {
  test('revokes the plan, reads again, and leaves a log without anything open', async () => {
    await using at = await fixture(1234);
    const report = await at.revokeAll({ batchSize: 100, reason: 'incident', ticket: 'INC-1' });
    expect(report).toMatchObject({ planned: 1234, revoked: 1234, unchanged: 0, failed: [], notTried: 0 });
    expect(report).toMatchObject({ verified: true, stillAlive: [], interrupted: false, stopped: null });
    const entries = await at.entries();
    expect(idsIn(entries)).toEqual({ intended: upTo(1234), revoked: upTo(1234) });
    expect(entries[0]).toMatchObject({
      kind: 'intent',
      operation: 'tokens.revoke',
      run: report.run,
      data: { selection: 'every token', planned: 1234, reason: 'incident', ticket: 'INC-1' },
    });
    expect(entries.at(-1)).toMatchObject({ closes: 1, open: [], data: { revoked: 1234, verified: true } });
    expect(await at.log.verify()).toMatchObject({ break: null, entries: 2 + 2 * 13 });
  });

  test('asks for no token before its intent is on the disk', async () => {
    await using at = await fixture(300);
    at.target.onRevoke = async (tokenId) => {
      expect(idsIn(await at.entries()).intended).toContain(tokenId);
      return undefined;
    };
    expect((await at.revokeAll({ batchSize: 50 })).revoked).toBe(300);
  });

  test('run again, finds nothing more to do and says so', async () => {
    await using at = await fixture(10);
    const plan = await planRevocation({ target: at.target, selector: { all: true }, clock: stillClock });
    await revokeTokens({ ...at.common, plan });
    expect(await revokeTokens({ ...at.common, plan })).toMatchObject({
      revoked: 0,
      unchanged: 10,
      stillAlive: [],
    });
  });

  test('reports what failed, and finds it when reading again', async () => {
    await using at = await fixture(5);
    at.target.onRevoke = (id) => (id === 3 ? 'failed' : undefined);
    const report = await at.revokeAll();
    expect(report).toMatchObject({
      revoked: 4,
      failed: [{ tokenId: 3, reason: 'as told' }],
      stillAlive: [3],
    });
  });

  test('does not believe a target that says "revoked" and keeps the token', async () => {
    await using at = await fixture(5);
    at.target.onRevoke = (id) => (id === 2 ? 'revoked' : undefined);
    expect(await at.revokeAll()).toMatchObject({ revoked: 5, stillAlive: [2], verified: false });
  });

  test('says that it could not verify where the target goes away before', async () => {
    await using at = await fixture(5);
    const { tokens } = at.target;
    at.target.tokens = (selector) => {
      if (selector.ids !== undefined) throw new TokenctlError('target_unreachable', 'Gone away');
      return tokens.call(at.target, selector);
    };
    const report = await at.revokeAll();
    expect(report).toMatchObject({
      revoked: 5,
      verified: false,
      stillAlive: [],
      stopped: { message: 'Gone away' },
    });
    expect((await at.entries()).at(-1)).toMatchObject({ open: [], data: { verified: false } });
  });

  test('does not hide a fault of its own, and records what was done until then', async () => {
    await using at = await fixture(5);
    at.target.onRevoke = (id) => {
      if (id === 3) throw new TypeError('a bug');
      return undefined;
    };
    await expect(at.revokeAll()).rejects.toThrow('a bug');
    expect(idsIn(await at.entries()).revoked).toEqual([1, 2]);
  });

  test('stops when the target refuses the credential, records it, and leaves nothing open', async () => {
    await using at = await fixture(1000);
    at.target.onRevoke = (id) => {
      if (id > 250) throw new TokenctlError('credentials_refused', 'The token is not accepted');
      return undefined;
    };
    const report = await at.revokeAll({ batchSize: 100 });
    expect(report).toMatchObject({ verified: false, stopped: { code: 'credentials_refused' } });
    expect(report.revoked + report.notTried).toBe(1000);
    expect(report.revoked).toBe(1000 - at.target.alive.size);
    const entries = await at.entries();
    expect(entries.at(-1)?.open).toEqual([]);
    expect(idsIn(entries).revoked).toHaveLength(report.revoked);
  });

  test('throws where not one token could be tried', async () => {
    await using at = await fixture(10);
    at.target.onRevoke = () => {
      throw new TokenctlError('target_unreachable', 'No one there');
    };
    await expect(at.revokeAll()).rejects.toMatchObject({ code: 'target_unreachable' });
    expect((await at.entries()).at(-1)?.open).toEqual([]);
  });

  test('on a signal finishes and records the batches under way, and begins no other', async () => {
    await using at = await fixture(1000);
    const signal = new AbortController();
    at.target.onRevoke = (id) => {
      if (id === 120) signal.abort();
      return undefined;
    };
    const report = await at.revokeAll({ batchSize: 50, signal: signal.signal });
    expect(report.interrupted).toBe(true);
    expect(report.revoked % 50).toBe(0);
    expect(report.revoked).toBeGreaterThanOrEqual(150);
    expect(report.notTried).toBe(1000 - report.revoked);
    expect(report).toMatchObject({
      verified: false,
      verification: { result: 'not_checked', why: 'Interrupted before everything was read again' },
    });
    expect((await at.entries()).at(-1)).toMatchObject({ open: [], data: { interrupted: true } });
  });

  test('tells of its progress up to the end', async () => {
    await using at = await fixture(500);
    const done: number[] = [];
    await at.revokeAll({ onProgress: (progress) => done.push(progress.done) });
    expect(done.at(-1)).toBe(500);
    expect(done).toEqual([...done].sort((a, b) => a - b));
  });
});

describe('the caller’s own credential', () => {
  test('is kept by default', async () => {
    await using at = await fixture(10);
    at.target.own = [4];
    const report = await at.revokeAll();
    expect(report).toMatchObject({ revoked: 9, kept: [{ tokenId: 4 }] });
    expect(report.accessPaths.map(({ path }) => path)).toContain('own_token');
    expect([...at.target.alive.keys()]).toEqual([4]);
  });

  test('where included, goes last and singly, after all else was read again', async () => {
    await using at = await fixture(10);
    at.target.own = [4, 6];
    const order: number[] = [];
    at.target.onRevoke = (id) => {
      if (order.includes(6)) throw new TokenctlError('credentials_refused', 'That was the one');
      order.push(id);
      return undefined;
    };
    const report = await at.revokeAll({ includeOwn: true });
    expect(order.slice(-2)).toEqual([4, 6]);
    expect(report).toMatchObject({ revoked: 10, notTried: 0, verified: true, stopped: null });
  });

  test('is not verified where a signal came before its turn', async () => {
    await using at = await fixture(10);
    at.target.own = [4, 6];
    const signal = new AbortController();
    at.target.onRevoke = (id) => {
      if (id === 4) signal.abort();
      return undefined;
    };
    const report = await at.revokeAll({ includeOwn: true, signal: signal.signal });
    expect(report).toMatchObject({
      revoked: 9,
      notTried: 1,
      interrupted: true,
      verified: false,
      verification: { result: 'not_checked', why: 'Interrupted before everything was tried' },
    });
  });

  test('is known to be revoked by being refused afterwards, and not because nothing was read', async () => {
    await using at = await fixture(3);
    at.target.own = [2];
    const report = await at.revokeAll({ includeOwn: true });
    expect(report).toMatchObject({ revoked: 3, verified: true, ownAccessEnded: true, stillAlive: [] });
  });

  test('is told from the other candidates, each of which is read again', async () => {
    await using at = await fixture(4);
    at.target.own = [2, 3];
    const report = await at.revokeAll({ includeOwn: true });
    expect(report).toMatchObject({ revoked: 4, verified: true, ownAccessEnded: true, stillAlive: [] });
  });

  test('is found alive where the target only said that it is revoked', async () => {
    await using at = await fixture(3);
    at.target.own = [2];
    at.target.onRevoke = (id) => (id === 2 ? 'revoked' : undefined);
    const report = await at.revokeAll({ includeOwn: true });
    expect(report).toMatchObject({ verified: false, ownAccessEnded: false, stillAlive: [2] });
  });

  test('that ends before the other candidates is reported', async () => {
    await using at = await fixture(10);
    at.target.own = [4, 6];
    at.target.onRevoke = (id) => {
      if (id === 6) throw new TokenctlError('credentials_refused', 'The other was the one');
      return undefined;
    };
    const report = await at.revokeAll({ includeOwn: true });
    expect(report).toMatchObject({
      revoked: 9,
      notTried: 1,
      verified: false,
      stopped: { code: 'credentials_refused' },
    });
  });
});

describe('a log that cannot be written', () => {
  test('before the first intent: nothing is changed', async () => {
    await using at = await fixture(10);
    const work = at.revokeAll({ log: failingFrom(at.log, 1) });
    await expect(work).rejects.toMatchObject({ code: 'audit_unavailable' });
    expect(at.target.alive.size).toBe(10);
  });

  test('before the first batch: nothing is changed', async () => {
    await using at = await fixture(10);
    const work = at.revokeAll({ log: failingFrom(at.log, 2) });
    await expect(work).rejects.toMatchObject({ code: 'audit_unavailable' });
    expect(at.target.alive.size).toBe(10);
  });

  test('after a batch: stops, and says that its outcome is unrecorded', async () => {
    await using at = await fixture(1000);
    const work = at.revokeAll({ batchSize: 10, log: failingFrom(at.log, 8) });
    await expect(work).rejects.toMatchObject({ code: 'outcome_unrecorded' });
    expect(at.target.alive.size).toBeGreaterThan(900);
    const { intended } = idsIn(await at.entries());
    const gone = upTo(1000).filter((id) => !at.target.alive.has(id));
    expect(intended).toEqual(expect.arrayContaining(gone));
  });

  test('for some time: the next run closes what was left open', async () => {
    await using at = await fixture(100);
    await expect(at.revokeAll({ batchSize: 10, log: failingFrom(at.log, 6) })).rejects.toThrow();
    const gone = upTo(100).filter((id) => !at.target.alive.has(id));
    expect((await at.entries()).at(-1)?.open).not.toEqual([]);
    const report = await at.revokeAll();
    expect(report.revoked).toBe(100 - gone.length);
    const entries = await at.entries();
    expect(entries.at(-1)?.open).toEqual([]);
    const reconciled = entries.filter(({ data }) => data['reconciled'] === true);
    expect(reconciled.length).toBeGreaterThan(1);
    const accounted = reconciled.flatMap(({ data }) => (data['gone'] as number[] | undefined) ?? []);
    expect([...accounted, ...idsIn(entries).revoked]).toEqual(expect.arrayContaining(gone));
    expect(await at.log.verify()).toMatchObject({ break: null });
  });
});
