import { describe, expect, test } from 'vitest';
import { openFileLog } from '../../../src/audit-log/file-log.ts';
import { Journal } from '../../../src/operations/journal/journal.ts';
import { reconcile } from '../../../src/operations/journal/reconcile.ts';
import { draft, stillClock } from '../../support/drafts.ts';
import { databaseFixture, failingFrom, fixture } from '../../support/fixture.ts';
import { refusal } from '../../support/logs.ts';
import { refreshToken } from '../../support/memory-refresh-tokens.ts';
import { session } from '../../support/memory-sessions.ts';
import { description } from '../../support/memory-target.ts';

const here = { context: 'test', address: description().address };

describe('reconcile', () => {
  test('finds out which tokens of an open batch are gone', async () => {
    await using at = await fixture(3);
    const tokens = [
      { user: 'alice', ids: [1, 8] },
      { user: 'bob', ids: [3, 9] },
    ];
    const intent = await at.log.append(
      draft({ kind: 'intent', target: here, data: { step: 'batch', tokens } }),
    );
    expect(await reconcile(at.common)).toBe(1);
    expect((await at.entries()).at(-1)).toMatchObject({
      kind: 'outcome',
      closes: intent.seq,
      run: intent.run,
      operation: intent.operation,
      data: { reconciled: true, step: 'batch', gone: [8, 9], alive: [1, 3] },
      open: [],
    });
    expect(await reconcile(at.common)).toBe(0);
  });

  test.each([
    ['refresh_tokens', { gone: [12, 14], alive: [11] }],
    ['refresh_token_rows', { gone: [14], alive: [11, 12] }],
  ])('finds out what became of %s', async (step, found) => {
    await using at = await databaseFixture();
    for (const row of [refreshToken({ id: 11 }), refreshToken({ id: 12, revoked: new Date() })]) {
      at.target.refresh.rows.set(row.id, row);
    }
    const { address } = at.target.self;
    await at.log.append(
      draft({ kind: 'intent', target: { context: 'test', address }, data: { step, ids: [11, 12, 14] } }),
    );
    expect(await reconcile(at.common)).toBe(1);
    expect((await at.entries()).at(-1)).toMatchObject({
      data: { reconciled: true, step, ...found },
      open: [],
    });
  });

  test('says that the sessions of a cache that does not answer were not read', async () => {
    await using at = await databaseFixture();
    at.target.logins.live.push(session());
    const { address } = at.target.self;
    const data = { step: 'sessions', users: 'all' };
    await at.log.append(draft({ kind: 'intent', target: { context: 'test', address }, data }));
    const sessionCache = { addresses: [], problem: 'The session cache cannot be read' };
    await reconcile({ ...at.common, description: { ...at.common.description, sessionCache } });
    expect((await at.entries()).at(-1)?.data).toMatchObject({
      step: 'sessions',
      notRead: 'The session cache cannot be read',
    });
  });

  test.each([
    ['all', 2],
    [[2], 1],
    ['somebody', 0],
  ])('says how many sessions of %o there are', async (users, alive) => {
    await using at = await databaseFixture();
    at.target.logins.live.push(session(), session({ user: null }));
    const { address } = at.target.self;
    await at.log.append(
      draft({ kind: 'intent', target: { context: 'test', address }, data: { step: 'sessions', users } }),
    );
    await reconcile(at.common);
    expect((await at.entries()).at(-1)?.data).toEqual({ reconciled: true, step: 'sessions', alive });
  });

  test('says what the settings are after a change without an outcome', async () => {
    await using at = await fixture();
    const operation = 'settings.basic-auth';
    await at.log.append(
      draft({ kind: 'intent', operation, target: here, data: { after: { AUTH_BASIC_ENABLED: false } } }),
    );
    await reconcile(at.common);
    expect((await at.entries()).at(-1)).toMatchObject({
      data: { reconciled: true, result: 'unknown', settings: { AUTH_BASIC_ENABLED: true } },
    });
  });

  test('leaves alone what belongs to another target, or to a run that lives', async () => {
    await using at = await fixture();
    const elsewhere = { context: 'test', address: 'https://another.example.org' };
    await at.log.append(draft({ kind: 'intent', target: elsewhere }));
    const run = '00000000-0000-4000-8000-00000000000a';
    using _hold = await at.log.lockRun(run);
    await at.log.append(draft({ kind: 'intent', target: here, run }));
    expect(await reconcile(at.common)).toBe(0);
    expect((await at.entries()).at(-1)?.open).toEqual([1, 2]);
  });

  test('closes an intent once, however many processes reconcile at the same time', async () => {
    await using at = await fixture(2);
    const tokens = [{ user: 'alice', ids: [1, 2, 8, 9] }];
    const intent = await at.log.append(
      draft({ kind: 'intent', target: here, data: { step: 'batch', tokens } }),
    );
    const logs = [1, 2, 3, 4].map(() => openFileLog({ path: at.path, clock: stillClock }));
    // All of them have read the open intents before the first one closes any.
    const begun = Promise.all(logs.map((log) => log.abandonedIntents()));
    const closed = await Promise.all(
      logs.map((each, index) => {
        const log = failingFrom(each, Number.POSITIVE_INFINITY);
        const abandonedIntents = () => begun.then((read) => read[index] ?? []);
        return reconcile({ ...at.common, log: { ...log, abandonedIntents } });
      }),
    );
    expect(closed.sort()).toEqual([0, 0, 0, 1]);
    expect((await at.entries()).filter(({ closes }) => closes === intent.seq)).toHaveLength(1);
  });

  test('refuses to record the outcome of an intent that another process closed', async () => {
    await using at = await fixture(1);
    const journal = new Journal({ ...at.common, operation: 'tokens.revoke' });
    const intent = await journal.intent({ step: 'batch', tokens: [{ user: 'alice', ids: [1] }] });
    expect(await reconcile(at.common)).toBe(1);
    expect(await refusal(journal.outcome(intent, { step: 'batch', revoked: [1] }))).toMatchObject({
      code: 'outcome_unrecorded',
      message: expect.stringContaining(`Intent ${intent.seq} already has an outcome`),
      hint: expect.stringContaining('Run the command again'),
    });
  });

  test('survives an intent whose data are of another shape', async () => {
    await using at = await fixture();
    const tokens = [null, 'x', { ids: 'y' }, { ids: [1.5, 'z'] }];
    await at.log.append(draft({ kind: 'intent', target: here, data: { step: 'batch', tokens } }));
    await at.log.append(draft({ kind: 'intent', target: here, data: { step: 'batch' } }));
    expect(await reconcile(at.common)).toBe(2);
  });
});
