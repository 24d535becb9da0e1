import { until } from '@tokenctl/testing/until.ts';
import { describe, expect, test } from 'vitest';
import { hashOf } from '../../../src/audit-log/chain.ts';
import { draft, RUN } from '../../support/drafts.ts';
import { EMPTY_LOGS, refusal, sequence } from '../../support/logs.ts';

describe.each(EMPTY_LOGS)('an audit log in %s', (_kind, open) => {
  test('returns the entry as it is stored', async () => {
    await using at = await open();
    const entry = await at.log.append(draft({ kind: 'intent' }));
    expect(entry).toMatchObject({ seq: 1, at: '2026-11-20T10:00:00.000Z', open: [1] });
    const [line = ''] = await at.lines();
    expect(JSON.parse(line)).toEqual(entry);
    expect(await at.log.head()).toEqual({ size: 1, hash: hashOf(line) });
  });

  test('keeps every character that JSON has', async () => {
    await using at = await open();
    const data = { text: '\u0000\u0007"\\\n\u007f é 𝄞 \u2028', 'ключ\u0001': [1.5e300, -0.25, null, true] };
    const entry = await at.log.append(draft({ data }));
    expect(entry.data).toEqual(data);
    for await (const read of at.another().entries()) expect(read).toEqual(entry);
    expect(await at.log.verify()).toMatchObject({ entries: 1, break: null });
  });

  test('numbers concurrent appends in their order', async () => {
    await using at = await open();
    const entries = await Promise.all(
      Array.from({ length: 50 }, (_, index) => at.log.append(draft({ data: { index } }))),
    );
    expect(entries.map(({ seq, data }) => seq - Number(data['index']))).toEqual(
      Array.from({ length: 50 }, () => 1),
    );
    expect(await at.log.verify()).toMatchObject({ entries: 50, break: null });
  });

  test('follows what another instance appended meanwhile', async () => {
    await using at = await open();
    const other = at.another();
    for (let round = 0; round < 5; round += 1) {
      await Promise.all([at.log.append(draft()), other.append(draft()), at.log.append(draft())]);
    }
    expect(await at.log.verify()).toMatchObject({ entries: 15, break: null });
  });

  test('refuses one entry that is no JSON, and takes the others of its group', async () => {
    await using at = await open();
    const first = at.log.append(draft());
    const [bad, good] = [at.log.append(draft({ data: { value: Number.NaN } })), at.log.append(draft())];
    expect(await refusal(bad)).toMatchObject({ code: 'audit_unavailable' });
    expect((await first).seq).toBe(1);
    expect((await good).seq).toBe(2);
    expect(await at.log.verify()).toMatchObject({ entries: 2, break: null });
  });

  test('takes one outcome of an intent, and refuses a second one under the lock', async () => {
    await using at = await open();
    const { seq } = await at.log.append(draft({ kind: 'intent' }));
    const closing = draft({ kind: 'outcome', closes: seq });
    const others = [at.another(), at.another(), at.log];
    const results = await Promise.allSettled(others.map((log) => log.append(closing)));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(await refusal(at.log.append(closing))).toMatchObject({
      code: 'intent_closed',
      message: `Intent ${seq} already has an outcome in the audit log ${at.name}`,
    });
    expect(await sequence(at.log)).toEqual([1, 2]);
  });

  test('does not build on a last line that is no entry', async () => {
    await using at = await open();
    await at.log.append(draft());
    await at.smuggle('garbage');
    const error = await refusal(at.log.append(draft()));
    expect(error).toMatchObject({ code: 'audit_unavailable', hint: expect.stringContaining('log verify') });
    expect(error.message).toContain(at.name);
  });

  test('is empty where it does not exist, and reading makes none', async () => {
    await using at = await open();
    expect(await at.log.head()).toEqual({ size: 0, hash: '0'.repeat(64) });
    expect(await sequence(at.log)).toEqual([]);
    expect(await at.log.verify()).toMatchObject({ entries: 0, break: null });
    expect(await at.log.abandonedIntents()).toEqual([]);
    await expect(at.lines()).rejects.toThrow();
  });

  test('stops reading at a line that is no entry, with its number', async () => {
    await using at = await open();
    await at.log.append(draft());
    await at.smuggle('garbage');
    expect(await refusal(sequence(at.log))).toMatchObject({ code: 'log_broken', details: { line: 2 } });
    expect((await at.log.verify()).break).toMatchObject({ line: 2, problem: 'unreadable' });
  });

  test('reads a log of more entries than it fetches at once', async () => {
    await using at = await open();
    const drafts = Array.from({ length: 1203 }, (_, index) => draft({ data: { index } }));
    await Promise.all(drafts.map((each) => at.log.append(each)));
    expect(await sequence(at.log)).toEqual(drafts.map((_, index) => index + 1));
    expect(await at.log.verify()).toMatchObject({ entries: 1203, break: null });
  });

  test('finds an open intent at the far end of a long log', async () => {
    await using at = await open();
    await at.log.append(draft());
    const intent = await at.log.append(draft({ kind: 'intent', data: { text: 'x'.repeat(200_000) } }));
    const filler = Array.from({ length: 3000 }, (_, index) =>
      draft({ data: { index, text: 'y'.repeat(index % 300) } }),
    );
    await Promise.all(filler.map((each) => at.log.append(each)));
    expect(await at.log.abandonedIntents()).toEqual([intent]);
    await at.log.append(draft({ kind: 'outcome', closes: intent.seq }));
    expect(await at.log.abandonedIntents()).toEqual([]);
  });

  test('skips a run that another process has locked', async () => {
    await using at = await open();
    const hold = await at.log.lockRun(RUN);
    await at.log.append(draft({ kind: 'intent' }));
    const other = at.another();
    expect(await other.abandonedIntents()).toEqual([]);
    hold[Symbol.dispose]();
    await until(
      () => other.abandonedIntents(),
      ({ length }) => length === 1,
    );
  });

  test('is not confused by a run of a strange name', async () => {
    await using at = await open();
    await at.log.append(draft({ kind: 'intent', run: "../../../etc/passwd'; --" }));
    expect(await at.log.abandonedIntents()).toHaveLength(1);
  });
});
