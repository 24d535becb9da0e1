import { join } from 'node:path';
import { kinds } from '@tokenctl/testing/runs.ts';
import { temporaryFolder } from '@tokenctl/testing/temporary-folder.ts';
import { expect, test } from 'vitest';
import { openFileLog } from '../../../src/audit-log/file-log.ts';
import { listLog, numberSince } from '../../../src/operations/audit-log/list-log.ts';
import { reportLog } from '../../../src/operations/audit-log/report-log.ts';
import type { AuditLog } from '../../../src/operations/ports/audit-log.ts';
import { draft } from '../../support/drafts.ts';

const HOUR = 3_600_000;
const BEGIN = Date.parse('2026-01-01T00:00:00Z');

/** A log of an entry an hour, in which `intents` are never closed. */
async function hourly(entries: number, intents: readonly number[] = []) {
  const folder = await temporaryFolder();
  let now = BEGIN;
  const log = openFileLog({ path: join(folder.path, 'audit.jsonl'), clock: { now: () => new Date(now) } });
  const append = async (hours: number) => {
    now += hours * HOUR;
    const { size } = await log.head();
    await log.append(draft({ kind: intents.includes(size + 1) ? 'intent' : 'note' }));
  };
  for (let count = 0; count < entries; count += 1) await append(1);
  return { log, append, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
}

const after = (hours: number) => new Date(BEGIN + hours * HOUR);

test('a log is read from a day before an instant on', async () => {
  await using at = await hourly(100);
  expect(await numberSince(at.log, after(90))).toBe(66);
  expect(await numberSince(at.log, after(90.5))).toBe(67);
  expect(await numberSince(at.log, after(10))).toBe(1);
  expect(await numberSince(at.log, after(1000))).toBe(101);
});

test('a clock that was set back by hours hides nothing', async () => {
  await using at = await hourly(60);
  await at.append(-10);
  for (let count = 0; count < 40; count += 1) await at.append(1);
  for (const hours of [45, 50, 55, 60, 65]) {
    const from = await numberSince(at.log, after(hours));
    const missed: number[] = [];
    for await (const entry of at.log.entries()) {
      if (entry.seq < from && Date.parse(entry.at) >= after(hours).getTime()) missed.push(entry.seq);
    }
    expect(missed).toEqual([]);
  }
});

test('an intent without an outcome is read, however old', async () => {
  await using at = await hourly(100, [5, 80]);
  expect(await numberSince(at.log, after(90))).toBe(5);
});

test('an empty log has nothing to begin with', async () => {
  await using at = await hourly(0);
  expect(await numberSince(at.log, after(1))).toBe(1);
});

/** A log that counts the entries that are read of it. */
function counted(log: AuditLog) {
  const seen = { entries: 0 };
  const entries: AuditLog['entries'] = async function* (...selection) {
    for await (const entry of log.entries(...selection)) {
      seen.entries += 1;
      yield entry;
    }
  };
  const { head, verify } = { head: () => log.head(), verify: () => log.verify() };
  return { log: { entries, head, verify }, seen };
}

test.each(
  kinds([
    ['the newest three', { last: 3 }, [298, 299, 300]],
    ['the newest three of an operation', { last: 3, operation: 'tokens' }, [298, 299, 300]],
    ['those of the last hours', { since: after(298) }, [298, 299, 300]],
    ['the newest of those', { since: after(298), last: 2 }, [299, 300]],
    ['none of an unknown operation', { since: after(298), last: 2, operation: 'x' }, []],
  ] as const),
)('a list of %s reads no more of a long log than it needs', async (_what, options, expected) => {
  await using at = await hourly(300);
  const { log, seen } = counted(at.log);
  const listed: number[] = [];
  for await (const { seq } of listLog({ log, ...options })) listed.push(seq);
  expect(listed).toEqual(expected);
  expect(seen.entries).toBeLessThan(60);
});

test('a list goes as far back as it must', { tags: ['long'] }, async () => {
  await using at = await hourly(300, [2]);
  const listed: number[] = [];
  for await (const { seq } of listLog({ log: at.log, last: 2, kind: 'intent' })) listed.push(seq);
  expect(listed).toEqual([2]);
});

test('a report of a period reads no entries from long before it', { tags: ['long'] }, async () => {
  await using at = await hourly(300);
  const { log, seen } = counted(at.log);
  const { totals } = await reportLog({ log, since: after(298) });
  expect(totals.entries).toBe(3);
  expect(seen.entries).toBeLessThan(90);
});
