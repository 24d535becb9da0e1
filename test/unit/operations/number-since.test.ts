import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openFileLog } from '../../../src/audit-log/file-log.ts';
import { numberSince } from '../../../src/operations/audit-log/list-log.ts';
import { draft, temporaryFolder } from '../../support/drafts.ts';

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
