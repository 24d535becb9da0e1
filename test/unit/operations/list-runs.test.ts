import { join } from 'node:path';
import { temporaryFolder } from '@tokenctl/testing/temporary-folder.ts';
import { expect, test } from 'vitest';
import { openFileLog } from '../../../src/audit-log/file-log.ts';
import { listRuns, readRun } from '../../../src/operations/audit-log/list-log.ts';
import type { AuditLog, EntryDraft } from '../../../src/operations/ports/audit-log.ts';
import { runSentence } from '../../../src/reports/log-report.ts';
import { draft } from '../../support/drafts.ts';

const BEGIN = Date.parse('2026-03-01T00:00:00Z');
const runId = (number: number) => `${String(number).padStart(8, '0')}-0000-4000-8000-000000000000`;

/** A log that records how many entries are read of it. */
async function countedLog() {
  const folder = await temporaryFolder();
  let now = BEGIN;
  const file = openFileLog({ path: join(folder.path, 'audit.jsonl'), clock: { now: () => new Date(now) } });
  const read: number[] = [];
  const log: Pick<AuditLog, 'entries' | 'head'> = {
    head: () => file.head(),
    async *entries(from) {
      for await (const entry of file.entries(from)) {
        read.push(entry.seq);
        yield entry;
      }
    },
  };
  const append = (entry: Partial<EntryDraft>) => {
    now += 600;
    return file.append(
      draft({ operation: 'tokens.revoke', actor: { user: 'alice', host: 'ops' }, ...entry }),
    );
  };
  /** A revocation with a batch of two tokens, as tokenctl records it. */
  async function revoke(number: number, { whole = true, opening = {}, ids = [1, 2] } = {}): Promise<void> {
    const common = { run: runId(number), target: { context: 'east', address: 'https://east' } };
    const data = {
      step: 'operation',
      selection: 'tokens of bob',
      planned: ids.length,
      ticket: 'SEC-7',
      ...opening,
    };
    const first = await append({ ...common, kind: 'intent', data });
    const tokens = [{ user: 'bob', ids }];
    const batch = await append({ ...common, kind: 'intent', data: { step: 'batch', tokens } });
    const outcome = { step: 'batch', revoked: ids, failed: [], unchanged: [], notTried: [] };
    await append({ ...common, kind: 'outcome', closes: batch.seq, data: outcome });
    const closing = { step: 'operation', interrupted: false, stopped: null, stillAlive: 0, verified: true };
    if (whole) await append({ ...common, kind: 'outcome', closes: first.seq, data: closing });
  }
  return { log, read, append, revoke, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
}

async function sentences(options: Parameters<typeof listRuns>[0]): Promise<string[]> {
  const found: string[] = [];
  for await (const account of listRuns(options))
    found.push(`${account.run.slice(6, 8)} ${runSentence(account)}`);
  return found;
}

test('a run is a sentence; one without an outcome comes last', async () => {
  await using at = await countedLog();
  await at.revoke(1, { whole: false });
  await at.revoke(2);
  await at.append({ run: runId(3), kind: 'note', operation: 'log.rotate', target: {}, data: {} });
  const common = { run: runId(4), operation: 'settings.basic-auth', target: { context: 'east' } };
  const change = {
    before: { AUTH_BASIC_ENABLED: true },
    after: { AUTH_BASIC_ENABLED: false },
    reason: 'leak',
  };
  const kept = { before: { ALLOW_X: false, LIFETIME: 9 }, after: { ALLOW_X: false, LIFETIME: 3 } };
  const intent = await at.append({ ...common, kind: 'intent', data: change });
  await at.append({ ...common, kind: 'outcome', closes: intent.seq, data: { result: 'refused' } });
  await at.revoke(5, { ids: [7] });
  const again = await at.append({ ...common, run: runId(6), kind: 'intent', data: kept });
  const done = { result: 'done', now: kept.after };
  await at.append({ ...common, run: runId(6), kind: 'outcome', closes: again.seq, data: done });
  expect(await sentences(at)).toEqual([
    '02 alice revoked 2 tokens of bob at east: done, 1.8 s, SEC-7',
    '03 alice rotated the audit log',
    '04 alice tried to set AUTH_BASIC_ENABLED from true to false at east: refused, leak',
    '05 alice revoked 1 token of bob at east: done, 1.8 s, SEC-7',
    '06 alice set LIFETIME from 9 to 3, kept ALLOW_X at false at east: done, 0.6 s',
    '01 alice revoked 2 tokens of bob at east: unfinished, 1.2 s, SEC-7',
  ]);
  expect(await sentences({ ...at, operation: 'settings' })).toHaveLength(2);
  expect(await sentences({ ...at, run: '00000002' })).toHaveLength(1);
});

test('a lockdown with a way in that was not checked is partly done, as its exit code says', async () => {
  await using at = await countedLog();
  for (const [number, state] of [
    [1, 'closed'],
    [2, 'not_checked'],
  ] as const) {
    const common = { run: runId(number), operation: 'incident.lockdown', target: { context: 'east' } };
    const data = { step: 'operation', incident: 'inc-1', selection: 'user bob' };
    const first = await at.append({ ...common, kind: 'intent', data });
    const closing = { step: 'operation', result: 'locked', accessPaths: [{ path: 'sessions', state }] };
    await at.append({ ...common, kind: 'outcome', closes: first.seq, data: closing });
  }
  expect(await sentences(at)).toEqual([
    '01 alice locked down user bob as inc-1 at east: done, 0.6 s',
    '02 alice locked down user bob as inc-1 at east: partly done, 0.6 s',
  ]);
});

test('the newest runs are whole, and the rest of a long log is not read', async () => {
  await using at = await countedLog();
  for (let number = 1; number <= 60; number += 1) await at.revoke(number);
  at.read.length = 0;
  const newest = await sentences({ ...at, last: 2 });
  expect(newest.map((sentence) => sentence.slice(0, 2))).toEqual(['59', '60']);
  expect(newest[0]).toContain('revoked 2 tokens of bob at east: done, 1.8 s');
  expect(Math.min(...at.read)).toBeGreaterThan(100);
  // The filter leaves nothing near the end, so that all of it is read.
  expect(await sentences({ ...at, last: 2, run: '00000001' })).toHaveLength(1);
  const since = new Date(BEGIN + 230 * 600);
  expect((await sentences({ ...at, since })).map((sentence) => sentence.slice(0, 2))).toEqual([
    '58',
    '59',
    '60',
  ]);
});

test('a run is found by how its id begins', async () => {
  await using at = await countedLog();
  for (const number of [1, 20, 21]) await at.revoke(number);
  const { account, entries } = await readRun(at.log, '00000001');
  expect([account.run, entries.map(({ seq }) => seq)]).toEqual([runId(1), [1, 2, 3, 4]]);
  await expect(readRun(at.log, '0000002')).rejects.toThrow(
    /Several runs start with "0000002": 00000020-.*, 00000021-/,
  );
  await expect(readRun(at.log, 'f')).rejects.toMatchObject({ code: 'not_found' });
});
