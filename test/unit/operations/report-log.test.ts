import { appendFile, writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { openFileLog } from '../../../src/audit-log/file-log.ts';
import { type LogReport, reportLog } from '../../../src/operations/audit-log/report-log.ts';
import type { RunAccount } from '../../../src/operations/journal/run-account.ts';
import { htmlDocument, markdownDocument } from '../../../src/reports/document-formats.ts';
import { reportBlocks } from '../../../src/reports/log-report.ts';
import { draft } from '../../support/drafts.ts';
import { HOSTILE, richLog } from '../../support/export-estate.ts';
import { fixture } from '../../support/fixture.ts';
import { chainOf } from '../audit-log/chains.ts';

async function runsOf(report: LogReport): Promise<RunAccount[]> {
  const runs: RunAccount[] = [];
  for await (const run of report.runs()) runs.push(run);
  return runs;
}

async function text(chunks: AsyncIterable<string>): Promise<string> {
  let all = '';
  for await (const chunk of chunks) all += chunk;
  return all;
}

const frame = {
  since: undefined,
  until: undefined,
  made: new Date('2026-11-21T12:00:00Z'),
  version: '1.2.3',
  place: '/var/log/audit.jsonl',
};

describe('reportLog', () => {
  test('has the actor, changes, failures and reconciliation of each run', async () => {
    await using at = await richLog();
    const report = await reportLog({ log: at.log });
    const runs = await runsOf(report);
    expect(report.verification.break).toBeNull();
    expect(report.failure()).toBeNull();
    expect(runs.length).toBe(report.totals.runs);
    const [revocation] = runs;
    expect(revocation).toMatchObject({
      operation: 'tokens.revoke',
      actor: { user: 'carol', as: 'admin' },
      reason: HOSTILE,
      ticket: 'SEC-7',
      state: 'partly',
      counts: { revoked: 2, unchanged: 1, failed: 1, refreshTokensRevoked: 1 },
      owners: [{ user: 'alice', tokens: 4 }],
      failures: ['4: as told'],
      open: [],
    });
    expect(runs.find(({ operation }) => operation === 'tokens.create')).toMatchObject({
      state: 'done',
      counts: { created: 1 },
    });
    expect(runs.find(({ operation }) => operation === 'settings.basic-auth')).toMatchObject({
      changes: [{ name: 'AUTH_BASIC_ENABLED', before: true, after: false }],
      counts: { settingsChanged: 1 },
    });
    expect(runs.find(({ operation }) => operation === 'sessions.expire')).toMatchObject({
      counts: { sessionsEnded: 2 },
    });
    expect(runs.find(({ operation }) => operation === 'users.offboard')?.counts.usersChanged).toBe(1);
    const interrupted = runs.find(({ closedLater }) => closedLater.length > 0);
    expect(interrupted).toMatchObject({
      state: 'interrupted',
      closedLater: [{ gone: 2, alive: 0, actor: { user: 'root' } }, { alive: 0 }],
    });
    expect(report.totals).toMatchObject({ interrupted: 1, unfinished: 0 });
    expect(report.totals.actors[`carol@${HOSTILE} as admin`]).toBeGreaterThan(3);
  });

  test('tells runs whole of which an entry is of the time, and no others', async () => {
    await using at = await fixture();
    let now = new Date('2026-11-20T10:00:00Z');
    const log = openFileLog({ path: at.path, clock: { now: () => now } });
    const append = async (hour: number, other: Parameters<typeof draft>[0]) => {
      now = new Date(`2026-11-20T${hour}:00:00Z`);
      return await log.append(draft(other));
    };
    await append(10, { run: 'before' });
    const opening = await append(11, { run: 'across', kind: 'intent', data: { step: 'operation' } });
    await append(13, { run: 'across', kind: 'outcome', closes: opening.seq, data: { step: 'operation' } });
    await append(14, { run: 'later' });
    const report = await reportLog({
      log,
      since: new Date('2026-11-20T12:00:00Z'),
      until: new Date('2026-11-20T14:00:00Z'),
    });
    expect(await runsOf(report)).toMatchObject([{ run: 'across', began: '2026-11-20T11:00:00.000Z' }]);
    expect(report.totals).toMatchObject({ entries: 1, runs: 1 });
    const early = await reportLog({ log, until: new Date('2026-11-20T12:00:00Z') });
    expect((await runsOf(early)).map(({ run, state }) => [run, state])).toEqual([
      ['before', 'noted'],
      ['across', 'done'],
    ]);
  });

  test('counts an intent once that an older version closed twice', async () => {
    await using at = await fixture();
    const batch = { step: 'batch', tokens: [{ user: 'alice', ids: [1, 2] }] };
    const data = { reconciled: true, step: 'batch', gone: [1, 2], alive: [] };
    const lines = chainOf([
      draft({ run: 'killed', kind: 'intent', data: batch }),
      draft({ run: 'killed', kind: 'outcome', closes: 1, data }),
      draft({ run: 'killed', kind: 'outcome', closes: 1, data }),
      draft({ run: 'finished', kind: 'intent', data: batch }),
      draft({ run: 'finished', kind: 'outcome', closes: 4, data: { step: 'batch', revoked: [1, 2] } }),
      draft({ run: 'finished', kind: 'outcome', closes: 4, data }),
    ]);
    await writeFile(at.path, `${lines.join('\n')}\n`);
    const report = await reportLog({ log: at.log });
    expect(report.verification.break).toBeNull();
    expect((await runsOf(report)).map(({ run, state, counts }) => [run, state, counts.revoked])).toEqual([
      ['killed', 'interrupted', 2],
      ['finished', 'done', 2],
    ]);
    expect(report.totals).toMatchObject({ counts: { revoked: 4 }, interrupted: 1 });
  });

  test('lists open intents', async () => {
    await using at = await fixture();
    const { seq } = await at.log.append(draft({ kind: 'intent', data: { step: 'batch', ids: [1] } }));
    const report = await reportLog({ log: at.log });
    expect(await runsOf(report)).toMatchObject([{ state: 'unfinished', open: [seq] }]);
    expect(report.totals.unfinished).toBe(1);
  });

  test('shows where a log is broken, and the readable part', async () => {
    await using at = await fixture(2);
    await at.revokeAll();
    await appendFile(at.path, 'rubbish\n');
    const report = await reportLog({ log: at.log });
    expect(report.verification.break).toMatchObject({ problem: 'unreadable' });
    expect(await runsOf(report)).toMatchObject([{ counts: { revoked: 2 } }]);
    expect(report.failure()?.code).toBe('log_broken');
    expect(await text(markdownDocument(reportBlocks(report, frame)))).toMatch(/BROKEN at line \d+/);
  });

  test('names ten owners and twenty reasons, however many there are', async () => {
    await using at = await fixture(60);
    for (const [id, each] of at.target.alive) {
      at.target.alive.set(id, { ...each, user: { id, username: `user${id}` } });
    }
    at.target.onRevoke = () => 'failed';
    await at.revokeAll();
    const [run] = await runsOf(await reportLog({ log: at.log }));
    expect(run).toMatchObject({ moreOwners: 50, counts: { failed: 60 } });
    expect([run?.owners.length, run?.failures.length]).toEqual([10, 20]);
  });
});

describe('documents', () => {
  test('in Markdown nothing from outside is markup', async () => {
    await using at = await fixture(1);
    const nasty = '[x](http://evil.example) <img src=x> `a` *b* _c_ | www.evil.example @team #1\n# heading';
    await at.revokeAll({ reason: nasty });
    const document = await text(markdownDocument(reportBlocks(await reportLog({ log: at.log }), frame)));
    expect(document).toMatch(/^# Token change report\n/);
    expect(document).toContain('- **Access tokens revoked**: 1\n');
    expect(document).not.toMatch(/(?<!\\)[<[`|@]/);
    expect(document).not.toMatch(/[^\\]:\/\/evil|http:\/\//);
    expect(document.match(/^#/gm)?.length).toBe(4);
  });

  test('in HTML neither, and it needs no network', async () => {
    await using at = await richLog();
    const report = await reportLog({ log: at.log });
    const page = await text(htmlDocument(reportBlocks(report, frame), 'Audit log'));
    expect(page).toMatch(/^<!doctype html>/);
    expect(page.trimEnd()).toMatch(/<\/html>$/);
    expect(page).not.toMatch(/<script|\b(src|href|url)\s*[=(]/);
    expect(page).not.toContain('<14>');
    expect(page).not.toContain('\u202e');
    expect(page).toContain('SEC-7');
    expect(page).toContain('AUTH_BASIC_ENABLED: true → false');
  });
});
