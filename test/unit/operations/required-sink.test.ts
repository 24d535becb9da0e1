import { TokenctlError } from '@tokenctl/common/errors.ts';
import { NO_ANSWER_MS } from '@tokenctl/testing/limits.ts';
import { describe, expect, test } from 'vitest';
import { withRequiredSink } from '../../../src/app/open-audit-log.ts';
import { jsonLinesFormat, openSink } from '../../../src/audit-log/export/open-sink.ts';
import { syslogFormat } from '../../../src/audit-log/export/syslog.ts';
import type { Entry } from '../../../src/operations/ports/audit-log.ts';
import type { LogSink } from '../../../src/operations/ports/log-sink.ts';
import { fixture } from '../../support/fixture.ts';
import { deadPort, receiver, silence } from '../../support/receivers.ts';

const format = jsonLinesFormat;

describe('a required sink', () => {
  test('has every intent before it is acted on', async () => {
    await using at = await fixture(5);
    const taken: Entry[] = [];
    const aliveAt: number[] = [];
    const sink: LogSink = {
      name: 'memory',
      async send(records) {
        taken.push(...records.map((record) => JSON.parse(record) as Entry));
        aliveAt.push(at.target.alive.size);
      },
      close: () => Promise.resolve(),
    };
    const log = withRequiredSink(at.log, { sink, format });
    const report = await at.revokeAll({ log, reason: 'stolen' });
    expect(report.revoked).toBe(5);
    const intents = (await at.entries()).filter(({ kind }) => kind === 'intent');
    expect(taken).toEqual(intents);
    expect(aliveAt.slice(0, 2)).toEqual([5, 5]);
  });

  test.each([
    ['refuses', async () => `tcp://127.0.0.1:${await deadPort()}`],
    ['hangs in its handshake', async () => `tls://127.0.0.1:${(await silence()).port}`],
    ['never answers', async () => `http://127.0.0.1:${(await silence()).port}/`],
  ])('that %s keeps the act from being done, and closes the intent', async (_how, address) => {
    await using at = await fixture(3);
    const sink = openSink({ to: await address(), format: 'syslog', timeoutMs: NO_ANSWER_MS });
    const log = withRequiredSink(at.log, { sink, format: syslogFormat({ version: '1' }) });
    await expect(at.revokeAll({ log })).rejects.toMatchObject({
      code: 'audit_unavailable',
      message: expect.stringMatching(/^The required sink of the audit log did not accept the intent: t|h/),
    });
    expect(at.target.alive.size).toBe(3);
    const entries = await at.entries();
    expect(entries).toMatchObject([
      { kind: 'intent', seq: 1 },
      { kind: 'outcome', closes: 1, open: [], data: { step: 'operation', result: 'refused' } },
    ]);
    await log.close();
    // Without the requirement the same work is done.
    expect((await at.revokeAll()).revoked).toBe(3);
  });

  test('that fails half-way ends the work as a log that fails does', async () => {
    await using at = await fixture(500);
    let times = 0;
    const sink: LogSink = {
      name: 'memory',
      async send() {
        times += 1;
        if (times > 3) throw new TokenctlError('target_unreachable', 'Gone');
      },
      close: () => Promise.resolve(),
    };
    const log = withRequiredSink(at.log, { sink, format });
    await expect(at.revokeAll({ log, batchSize: 20 })).rejects.toMatchObject({ code: 'outcome_unrecorded' });
    const { length } = (await at.entries()).filter(({ data }) => data['result'] === 'refused');
    expect(length).toBeGreaterThan(0);
    expect(at.target.alive.size).toBeGreaterThan(0);
    expect((await at.revokeAll()).stillAlive).toEqual([]);
    expect(at.target.alive.size).toBe(0);
  });

  test('gets neither outcomes nor notes, and everything else is the log', async () => {
    const place = await receiver();
    await using at = await fixture(1);
    const sink = openSink({ to: `tcp://127.0.0.1:${place.port}`, format: 'jsonl' });
    const log = withRequiredSink(at.log, { sink, format });
    await at.revokeAll({ log });
    await log.rotate?.({ actor: {}, run: 'r' });
    expect(await log.verify()).toMatchObject({ break: null, entries: 5 });
    expect(await log.head()).toEqual(await at.log.head());
    expect(await log.abandonedIntents()).toEqual([]);
    expect(await log.filesToPrune?.(new Date())).toHaveLength(2);
    await log.close();
    await place.until((text) => text.split('\n').length === 3);
    expect(place.text()).not.toContain('"kind":"outcome"');
  });
});
