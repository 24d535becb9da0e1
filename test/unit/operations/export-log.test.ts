import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { temporaryFolder } from '@tokenctl/testing/temporary-folder.ts';
import { describe, expect, test } from 'vitest';
import { fileCursor } from '../../../src/audit-log/export/file-sink.ts';
import { ocsfFormat } from '../../../src/audit-log/export/ocsf.ts';
import { jsonLinesFormat } from '../../../src/audit-log/export/open-sink.ts';
import { openFileLog } from '../../../src/audit-log/file-log.ts';
import { type ExportLogOptions, exportLog } from '../../../src/operations/audit-log/export-log.ts';
import { rotateLog } from '../../../src/operations/audit-log/rotate-log.ts';
import type { LogSink } from '../../../src/operations/ports/log-sink.ts';
import { draft, stillClock } from '../../support/drafts.ts';
import { EMPTY_LOGS } from '../../support/logs.ts';

/** A sink that keeps what it takes, and fails when told so, before or after it took them. */
class MemorySink implements LogSink {
  readonly name = 'memory';
  readonly taken: string[] = [];
  sends = 0;
  /** Called before each time; what it throws is thrown, and nothing is taken. */
  before: (time: number) => void = () => undefined;
  after: (time: number) => void = () => undefined;

  async send(records: readonly string[]): Promise<void> {
    this.sends += 1;
    this.before(this.sends);
    this.taken.push(...records);
    this.after(this.sends);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  numbers(): number[] {
    return this.taken.map((line) => (JSON.parse(line) as { seq: number }).seq);
  }
}

const refused = () => {
  throw new TokenctlError('target_unreachable', 'No sink');
};

async function place(entries: number) {
  const folder = await temporaryFolder();
  const path = join(folder.path, 'audit.jsonl');
  const log = openFileLog({ path, clock: stillClock });
  const append = async (count: number) => {
    await Promise.all(Array.from({ length: count }, () => log.append(draft())));
  };
  await append(entries);
  const cursorPath = join(folder.path, 'export.cursor');
  const sink = new MemorySink();
  const run = (other: Partial<ExportLogOptions> = {}) =>
    exportLog({ log, sink, format: jsonLinesFormat, cursor: fileCursor(cursorPath), ...other });
  return { path, log, append, cursorPath, sink, run, [Symbol.asyncDispose]: folder[Symbol.asyncDispose] };
}

const upTo = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);

describe('exportLog', () => {
  test('goes on where it stopped, without loss or repetition', async () => {
    await using at = await place(3);
    expect(await at.run()).toEqual({ entries: 3, records: 3, last: 3 });
    expect(await at.run()).toEqual({ entries: 0, records: 0, last: 3 });
    await at.append(1_200);
    expect(await at.run()).toEqual({ entries: 1_200, records: 1_200, last: 1_203 });
    expect(at.sink.numbers()).toEqual(upTo(1, 1_203));
    expect(at.sink.sends).toBeGreaterThan(3);
  });

  test('goes on behind what the sink took, where that fails half-way', async () => {
    await using at = await place(1_300);
    at.sink.before = (time) => (time === 2 ? refused() : undefined);
    await expect(at.run()).rejects.toMatchObject({ code: 'target_unreachable' });
    expect(at.sink.taken.length).toBe(500);
    await at.run();
    expect(at.sink.numbers()).toEqual(upTo(1, 1_300));
  });

  test('hands over again what was taken and not remembered: at least once', async () => {
    await using at = await place(700);
    at.sink.after = (time) => (time === 1 ? refused() : undefined);
    await expect(at.run()).rejects.toMatchObject({ code: 'target_unreachable' });
    await at.run();
    expect(at.sink.numbers()).toEqual([...upTo(1, 500), ...upTo(1, 700)]);
  });

  test('moves the cursor behind an entry only after all of its records', async () => {
    await using at = await place(1);
    const ids = upTo(1, 1_200);
    const intent = await at.log.append(draft({ kind: 'intent', data: { step: 'batch', ids } }));
    await at.log.append(
      draft({ kind: 'outcome', closes: intent.seq, data: { step: 'batch', revoked: ids } }),
    );
    const format = ocsfFormat({ version: '1' });
    at.sink.before = (time) => (time === 3 ? refused() : undefined);
    await expect(at.run({ format })).rejects.toMatchObject({ code: 'target_unreachable' });
    const { taken } = at.sink;
    const before = taken.length;
    expect(before).toBeGreaterThan(500);
    await at.run({ format });
    expect(new Set(taken).size).toBe(1_202);
    expect(taken.length).toBeGreaterThan(1_202);
    expect(taken.length).toBeLessThanOrEqual(1_202 + before);
  });

  test('knows the owners of tokens also where it resumes between an intent and its outcome', async () => {
    await using at = await place(0);
    const common = {
      operation: 'tokens.revoke',
      data: { step: 'operation', reason: 'stolen', ticket: 'T-1' },
    };
    const opening = await at.log.append(draft({ kind: 'intent', ...common }));
    const tokens = [{ user: 'bob', ids: [7] }];
    const intent = await at.log.append(draft({ kind: 'intent', data: { step: 'batch', tokens } }));
    const format = ocsfFormat({ version: '1' });
    await at.run({ format });
    await at.log.append(
      draft({ kind: 'outcome', closes: intent.seq, data: { step: 'batch', revoked: [7] } }),
    );
    await at.log.append(draft({ kind: 'outcome', closes: opening.seq, data: { step: 'operation' } }));
    await at.run({ format });
    const event = JSON.parse(at.sink.taken.at(2) ?? '') as object;
    expect(event).toMatchObject({
      comment: 'stolen',
      entity: { uid: '7', user: { name: 'bob' } },
      unmapped: { ticket: 'T-1' },
    });
  });

  test('begins where it is told to, unless the cursor knows better', async () => {
    await using at = await place(5);
    await at.run({ since: 4 });
    expect(at.sink.numbers()).toEqual([4, 5]);
    await at.append(1);
    await at.run({ since: 1 });
    expect(at.sink.numbers()).toEqual([4, 5, 6]);
    const later = new Date(stillClock.now().getTime() + 1);
    expect(await at.run({ cursor: undefined, since: later })).toEqual({ entries: 0, records: 0, last: 6 });
  });

  test('follows while others append, and tries again where the sink fails', async () => {
    await using at = await place(2);
    const stop = new AbortController();
    const told: string[] = [];
    at.sink.before = (time) => (time === 2 || time === 3 ? refused() : undefined);
    let looks = 0;
    const other = openFileLog({ path: at.path, clock: stillClock });
    const report = await at.run({
      signal: stop.signal,
      follow: {
        onFailure: ({ message }) => told.push(message),
        async wait() {
          looks += 1;
          if (looks <= 4) await other.append(draft());
          if (looks > 7) stop.abort();
        },
      },
    });
    expect(at.sink.numbers()).toEqual(upTo(1, 6));
    expect(told).toEqual(['No sink', 'No sink']);
    expect(report).toMatchObject({ last: 6 });
  });

  test('following ends with what trying again does not mend', async () => {
    await using at = await place(2);
    at.sink.before = () => {
      throw new TokenctlError('permission_refused', 'Not you');
    };
    const follow = { wait: () => Promise.resolve(), onFailure: () => undefined };
    await expect(at.run({ follow })).rejects.toMatchObject({ code: 'permission_refused' });
  });

  test('goes on across rotation, and says what retention took from it', async () => {
    await using at = await place(3);
    const actor = { user: 'root' };
    await at.run();
    await at.append(2);
    await rotateLog({ log: at.log, actor });
    await at.append(1);
    await at.run();
    expect(at.sink.numbers()).toEqual(upTo(1, 7));
    await at.append(2);
    await rotateLog({ log: at.log, actor });
    await at.log.prune?.(new Date('2030-01-01'), { actor, run: 'r' });
    await expect(at.run()).rejects.toMatchObject({ code: 'not_found', details: { from: 8, to: 9 } });
  });

  test('refuses the cursor of another log, and a log that was cut off or rewritten', async () => {
    await using at = await place(4);
    await at.run();
    const lines = readFileSync(at.path, 'utf8').split('\n');
    writeFileSync(at.path, `${lines.slice(0, 2).join('\n')}\n`);
    await expect(at.run()).rejects.toMatchObject({
      code: 'log_broken',
      details: { entries: 2, exported: 4 },
    });
    await at.log.append(draft({ data: { text: 'another' } }));
    await at.append(3);
    await expect(at.run()).rejects.toMatchObject({ code: 'log_broken', details: { seq: 4 } });
    writeFileSync(at.cursorPath, '{}');
    await expect(at.run()).rejects.toMatchObject({ code: 'configuration' });
  });
});

describe.each(EMPTY_LOGS)('entries of %s from a number on', (_name, open) => {
  test('are those from there, whichever that is', async () => {
    await using at = await open();
    const text = 'x'.repeat(700);
    await Promise.all(Array.from({ length: 400 }, () => at.log.append(draft({ data: { text } }))));
    const from = async (seq: number) => {
      const numbers: number[] = [];
      for await (const entry of at.log.entries(seq)) numbers.push(entry.seq);
      return numbers;
    };
    for (const seq of [1, 2, 57, 199, 200, 399, 400]) expect(await from(seq)).toEqual(upTo(seq, 400));
    expect(await from(401)).toEqual([]);
    await at.smuggle('no entry');
    await expect(from(300)).rejects.toMatchObject({ message: expect.stringContaining('Line 401 of') });
  });
});
