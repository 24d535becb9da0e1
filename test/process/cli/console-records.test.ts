import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { until } from '@tokenctl/testing/until.ts';
import { expect, it } from 'vitest';
import type { Runtime } from '../../../src/app/runtime.ts';
import { inTurns, type Places } from '../../../src/console/places.ts';
import { chartsOf } from '../../../src/console/tokens/token-charts.ts';
import { filterOf, filterSchema, pageSchema } from '../../../src/console/tokens/token-filter.ts';
import { TokenTable } from '../../../src/console/tokens/token-table.ts';
import { type Severity, severities } from '../../../src/domain/policy/rule.ts';
import type { Selector } from '../../../src/domain/selector.ts';
import type { Token } from '../../../src/domain/token.ts';
import { TokenStatistics } from '../../../src/domain/token-statistics.ts';
import { openLedgerTables } from '../../../src/scheduler/ledger/ledger.ts';
import { consoleOf, type TestConsole } from '../../support/console.ts';
import { days, facts, now } from '../../support/policy-facts.ts';
import { token } from '../../support/tokens.ts';
import { estate } from './estate.ts';

const { home } = estate({ users: 8, tokens: 60 });
const large = estate({ users: 320, tokens: 2_000 });

it('audits against a baseline, exports what the command writes, and writes exceptions that it reads', {
  tags: ['long'],
}, async () => {
  const at = home();
  const { send } = await consoleOf(at);
  const place = 'test';
  const exported = async (format: string, more: object = {}) =>
    (await send('/api/audit/export', { place, format, ...more })).body;
  const whole = (await send(`/api/audit?place=${place}`)).json();
  const file = `${at.folder}/known.baseline`;
  writeFileSync(file, await exported('baseline'));
  // Two findings become new, and one that does not exist counts as fixed.
  const lines = readFileSync(file, 'utf8').split('\n');
  const added = lines.splice(4, 2);
  writeFileSync(file, [...lines.slice(0, 2), 'never-used token:999999', ...lines.slice(2)].join('\n'));
  const baseline = readFileSync(file, 'utf8');

  const compared = (await send('/api/audit/comparison', { place, baseline })).json();
  expect(compared.summary).toMatchObject({ found: 2, known: whole.summary.found - 2, fixed: 1 });
  const keysIn = (wanted: string) =>
    (compared.findings as { rule: string; subject: string; state: string }[])
      .filter(({ state }) => state === wanted)
      .map(({ rule, subject }) => `${rule} ${subject}`);
  expect(keysIn('new').sort()).toEqual(added.sort());
  expect(keysIn('fixed')).toEqual(['never-used token:999999']);
  const csv = (await at.run(['tokens', 'audit', '--csv', '--baseline', file])).stdout;
  // Each is of its own time.
  const timeless = (text: string) => text.replaceAll(/[^,]*(?=,every token,)/g, 'TIME');
  expect(timeless(await exported('csv', { baseline }))).toBe(timeless(csv));
  expect(await exported('table')).toMatch(/findings on 60 tokens/);
  expect(JSON.parse(await exported('sarif', { baseline })).runs[0].properties.trend.fixed).toBe(1);
  for (const wrong of ['', 'no baseline', '# tokenctl baseline 1\nnot a finding at all']) {
    const refused = await send('/api/audit/comparison', { place, baseline: wrong });
    expect([wrong, refused.statusCode]).toEqual([wrong, 400]);
  }

  const [{ name: owner, count }] = whole.rules.find(
    ({ rule }: { rule: string }) => rule === 'never-expires',
  ).owners;
  const query = { rule: 'never-expires', user: owner, reason: 'until: "later" # OPS-1', until: '2099-12-31' };
  const { yaml } = (await send(`/api/audit/exception?${new URLSearchParams(query)}`)).json();
  appendFileSync(`${at.folder}/.config/tokenctl/tokenctl.yaml`, yaml);
  const { excused } = JSON.parse((await at.run(['tokens', 'audit', '--summary', '--json'])).stdout);
  expect(excused).toEqual({ 'never-expires': count });
  // An audit is kept until it is asked for again.
  expect((await send(`/api/audit?place=${place}`)).json().at).toBe(whole.at);
  await send('/api/tokens/read-again', { place });
  expect((await send(`/api/audit?place=${place}`)).json().summary.excused).toBe(count);
});

it('lists findings of every rule, however many graver ones there are', { tags: ['long'] }, async () => {
  const { send } = await consoleOf(large.home());
  const { summary, rules, findings } = (await send('/api/audit?place=test')).json();
  expect(summary.bySeverity.critical + summary.bySeverity.high).toBeGreaterThan(1_000);
  const ranks = findings.map(({ severity }: { severity: Severity }) => severities.indexOf(severity));
  expect(ranks).toEqual(ranks.toSorted((one: number, other: number) => other - one));
  const listed = Object.groupBy(findings as { readonly rule: string }[], ({ rule }) => rule);
  for (const { rule, count } of rules)
    expect([rule, listed[rule]?.length ?? 0]).toEqual([rule, Math.min(count, 200)]);
});

it('filters the runs of the audit log, verifies it, and gives checkpoints and proofs that the commands take', async () => {
  const at = home();
  const { send, reached } = await consoleOf(at);
  const read = async (url: string) => (await send(url)).json();
  expect(await read('/api/log')).toMatchObject({ runs: [], verification: null });
  expect((await send('/api/log/checkpoint')).statusCode).toBe(400);
  await at.run(['log', 'init', '--name', 'example.org/console']);
  const { rows } = await waitForRows(send);
  const { id } = (
    await send('/api/operations', {
      kind: 'tokens revoke',
      place: 'test',
      ids: [rows[0].id],
      ticket: 'OPS-3',
    })
  ).json();
  const { asked } = await reached(id, 'asking');
  await send(`/api/operations/${id}/confirm`, { answer: asked?.type, digest: asked?.digest });
  await reached(id, 'done');

  const operations = async (filter: string) =>
    (await read(`/api/log?${filter}`)).runs.map((run: { operation: string }) => run.operation);
  expect(await operations('')).toEqual(['tokens.revoke', 'log.key']);
  expect(await operations('state=done')).toEqual(['tokens.revoke']);
  expect(await operations('text=ops-3')).toEqual(['tokens.revoke']);
  expect(await operations('operation=log')).toEqual(['log.key']);
  expect(await operations('since=2099-01-01')).toEqual([]);

  const verified = (await send('/api/log/verification', {})).json();
  const { size } = (await read('/api/log')).head;
  expect(verified).toMatchObject({ verified: { entries: size }, problem: null });
  const { checkpoint } = await read('/api/log/checkpoint');
  const file = `${at.folder}/audit.checkpoint`;
  writeFileSync(file, checkpoint);
  const checked = await at.run(['log', 'verify', '--checkpoint', file]);
  expect([checked.code, checked.stdout]).toEqual([0, expect.stringContaining(`entries 1 to ${size} match`)]);
  const against = (await send('/api/log/verification', { checkpoint })).json();
  expect(against.verified.checkpoint).toEqual({ origin: 'example.org/console', size });
  expect((await send('/api/log/verification', { checkpoint: 'no note' })).statusCode).toBe(400);

  const { proof, entry, seq } = await read('/api/log/proof?seq=2');
  writeFileSync(`${at.folder}/entry.proof`, proof);
  writeFileSync(`${at.folder}/entry.proof.entry`, entry);
  const prove = ['log', 'verify', '--proof', `${at.folder}/entry.proof`];
  const proved = await at.run(prove);
  expect([proved.code, proved.stdout]).toEqual([
    ...[0, expect.stringContaining(`Entry ${seq} is one of the ${size} entries of example.org/console`)],
  ]);
  writeFileSync(`${at.folder}/entry.proof.entry`, entry.replace('OPS-3', 'OPS-4'));
  expect((await at.run(prove)).code).toBe(6);
  expect((await send('/api/log/proof?seq=99')).statusCode).toBe(404);

  const log = `${at.folder}/.local/state/tokenctl/audit.jsonl`;
  const lines = readFileSync(log, 'utf8');
  writeFileSync(log, lines.replace('OPS-3', 'OPS-4'));
  const broken = (await send('/api/log/verification', {})).json();
  expect(broken).toMatchObject({ verified: null, problem: { code: 'log_broken' } });
  expect((await read('/api/log')).verification).toEqual(broken);
});

/** The first rows, once the tokens are read. */
const waitForRows = (send: TestConsole['send']) =>
  until(
    async () => (await send('/api/tokens?limit=1')).json(),
    ({ readings }) => readings.every(({ state }: { state: string }) => state !== 'reading'),
  );

it('shows the jobs, and runs one as a dry run under its lock, which changes nothing', {
  tags: ['long'],
}, async () => {
  const at = home();
  const jobs = {
    sweep: {
      job: 'revocation-sweep',
      contexts: ['test'],
      dryRun: false,
      parameters: { rules: ['never-expires'], stopAbovePercent: 100 },
    },
  };
  appendFileSync(`${at.folder}/.config/tokenctl/tokenctl.yaml`, `jobs: ${JSON.stringify(jobs)}\n`);
  const { send, reached } = await consoleOf(at);
  const read = async () => (await send('/api/jobs')).json();
  const listed = await read();
  expect(listed.jobs).toMatchObject([
    { name: 'sweep@test', kind: 'revocation-sweep', dryRun: false, last: null },
  ]);
  const [{ ticks }] = listed.jobs;
  expect(ticks).toHaveLength(5);
  expect([...ticks].sort()).toEqual(ticks);

  const before = (await waitForRows(send)).total;
  const dryRun = async () => (await send('/api/jobs/dry-run', { job: 'sweep@test' })).json();
  // Another process has the job.
  const ledger = await openLedgerTables(`${at.folder}/.local/state/tokenctl/ticks.sqlite`);
  const began = new Date();
  const claimant = { holder: 'another process', lease: 60_000, now: began };
  const claim = await ledger.claim({ job: 'sweep@test', due: began, kind: 'manual' }, claimant);
  const refused = await dryRun();
  expect(refused.command).toBe('tokenctl jobs run sweep@test --dry-run');
  await expect(reached(refused.id, 'done')).rejects.toThrow(/^failed: .*already running \(another process\)/);
  if (claim !== null) await ledger.end(claim, { state: 'completed', retryAt: null, summary: {}, now: began });
  await ledger.close();

  const done = await reached((await dryRun()).id, 'done');
  expect(done.result?.text).toMatch(/^sweep@test \(dry run\): completed: /);
  const { runs } = await read();
  expect(runs[0]).toMatchObject({ job: 'sweep@test', kind: 'manual', state: 'completed', isDryRun: true });
  expect((await send(`/api/jobs/run?run=${runs[0].run}`)).json().text).toContain(
    '0 entries of the audit log',
  );
  const history = JSON.parse((await at.run(['jobs', 'history', '--json'])).stdout);
  expect(history.map(({ run }: { run: string }) => run)).toEqual(runs.map(({ run }: { run: string }) => run));
  expect((await at.run(['log', 'list'])).stdout).toBe('');
  await send('/api/tokens/read-again', {});
  expect((await waitForRows(send)).total).toBe(before);
  for (const job of ['none', 'sweep@other']) {
    expect([job, (await send('/api/jobs/dry-run', { job })).statusCode]).toEqual([job, 404]);
  }
});

it('ticks the steps of a runbook off in the audit log, as the command does', { tags: ['long'] }, async () => {
  const at = home();
  const { send } = await consoleOf(at);
  await waitForRows(send);
  const owner = (await waitForRows(send)).facets.users.at(-1).name;
  const locked = await at.run(['incident', 'lockdown', '--user', owner, '--yes', '--json']);
  const { incident } = JSON.parse(locked.stdout);
  const request = { place: 'test', incident, runbook: 'stolen-token', step: 2, ticket: 'SEC-9' };
  const read = async (more = '') =>
    (await send(`/api/incidents/steps?place=test&incident=${incident}${more}`)).json();
  expect(await read()).toMatchObject({ runbook: null, steps: [], done: [] });
  expect((await read('&runbook=stolen-token')).steps[1]).toMatchObject({
    ...{
      step: 2,
      title: "End all of monitoring's access",
      document: expect.arrayContaining([expect.objectContaining({ kind: 'code' })]),
    },
  });

  expect((await send('/api/incidents/steps', request)).json().text).toMatch(
    /^Ticked off step 2 of stolen-token \(End all of alice's access\) for inc-/,
  );
  expect((await send('/api/incidents/steps', request)).json().json).toMatchObject({ changed: false });
  const step = ['incident', 'step', incident.slice(0, 8), '--runbook', 'stolen-token'];
  expect((await at.run([...step, '--step', '1'])).stdout).toMatch(/^Ticked off step 1/);
  expect(await read()).toMatchObject({ runbook: 'stolen-token', done: [{ step: 2 }, { step: 1 }] });
  expect((await at.run([...step, '--step', '1', '--undo'])).stdout).toMatch(/^Undid step 1/);
  const { done, steps } = await read();
  expect([done.length, steps.length]).toEqual([1, 6]);

  expect((await at.run(['log', 'list', '--operation', 'incident.step'])).stdout).toMatch(
    /marked step 2 of stolen-token \(End all of alice's access\) as done for inc-[0-9a-f]+ at test: SEC-9/,
  );
  const report = await at.run(['incident', 'report', incident]);
  expect(report.stdout).toContain('marked step 2 of stolen-token');
  expect(report.stdout).toContain('undid step 1 of stolen-token');
  const timeline = await at.run(['incident', 'timeline', '--user', owner, '--since', '1h']);
  expect(timeline.stdout).toContain('step 2 of stolen-token');
  for (const [change, status] of [
    [{ step: 7 }, 400],
    [{ runbook: '../../package' }, 400],
    [{ incident: 'inc-00000000' }, 404],
  ] as const) {
    const refused = await send('/api/incidents/steps', { ...request, ...change });
    expect([change, refused.statusCode]).toEqual([change, status]);
  }
  expect((await at.run(['log', 'verify'])).code).toBe(0);
});

it('reads two contexts at a time, the others in their order, after a failure as well', {
  tags: ['long'],
}, async () => {
  const inTurn = inTurns(2);
  const begun: string[] = [];
  const gates = new Map<string, PromiseWithResolvers<void>>();
  const work = (name: string) =>
    inTurn(() => {
      begun.push(name);
      const gate = Promise.withResolvers<void>();
      gates.set(name, gate);
      return gate.promise;
    });
  const all = ['a', 'b', 'c', 'd'].map(work);
  expect(begun).toEqual(['a', 'b']);
  gates.get('b')?.reject(new Error('unreachable'));
  await expect(all[1]).rejects.toThrow('unreachable');
  await until(() => begun.join('') === 'abc');
  for (const name of ['a', 'c']) gates.get(name)?.resolve();
  await until(() => begun.join('') === 'abcd');
  gates.get('d')?.resolve();
  await Promise.all([all[0], all[2], all[3]]);
});

/** A table of contexts with these tokens. */
function tableOf(tokens: (place: string, selector: Selector) => AsyncIterable<Token>) {
  const runtime = (place: string) =>
    ({
      target: () => Promise.resolve({ tokens: (selector: Selector) => tokens(place, selector) }),
      description: () => Promise.resolve({ visibility: { kind: 'all' }, missingRights: [] }),
      targetClock: () => Promise.resolve({ now: () => now }),
      clock: { now: () => now },
    }) as unknown as Runtime;
  const places = { work: (place: string, work: (runtime: Runtime) => unknown) => work(runtime(place)) };
  const table = new TokenTable(places as unknown as Places);
  return (filter: object, ...from: string[]) =>
    table.page(filterOf(filterSchema.parse(filter), from), pageSchema.parse({ limit: '100' }));
}

const hundred = () => Array.from({ length: 100 }, (_, index) => token({ id: index + 1 }));

it('shows the first page of tokens before the others are read', async () => {
  const rest = Promise.withResolvers<void>();
  const page = tableOf(async function* () {
    yield* hundred();
    await rest.promise;
    yield token({ id: 101 });
  });
  expect(await page({}, 'east')).toMatchObject({ total: 100, readings: [{ state: 'reading', tokens: 100 }] });
  rest.resolve();
  const read = await until(
    () => page({}, 'east'),
    ({ readings }) => readings[0]?.state !== 'reading',
  );
  expect(read).toMatchObject({ total: 101, readings: [{ state: 'complete' }] });
});

it('calls no rows complete that were selected before a context was read to its end', async () => {
  const [rest, asked, never] = Array.from({ length: 3 }, () => Promise.withResolvers<void>());
  const page = tableOf(async function* (place, { neverUsed }) {
    if (neverUsed) {
      asked?.resolve();
      await never?.promise;
    } else if (place === 'west') {
      yield token({ id: 1, lastUsed: undefined });
    } else {
      yield* hundred();
      await rest?.promise;
      yield token({ id: 101 });
    }
  });
  const shown = page({ use: 'used' }, 'east', 'west');
  await asked?.promise;
  rest?.resolve();
  await until(
    () => page({}, 'east'),
    ({ readings: [east] }) => east?.state === 'complete',
  );
  never?.resolve();
  const { total: rows, readings } = await shown;
  expect([rows < 102, readings[0]?.state]).toEqual([true, 'reading']);
});

it('counts tokens in the steps of the report, and filters by a range of them', {
  tags: ['long'],
}, async () => {
  const ages = [-40, 0.5, 5, 25, 80, 300, 900, 4000, 99_999];
  const tokens = ages.map((age, index) =>
    token({
      ...{ id: index + 1, expires: days(age), created: days(-5000) },
      lastUsed: age > 50_000 ? null : days(-Math.abs(age)),
    }),
  );
  const rows = tokens.map((each) => ({ token: each, laterMs: 0 }));
  const charts = chartsOf({ found: rows, forExpiry: rows, forUse: rows }, now);
  const statistics = new TokenStatistics(facts(), { unusedDays: 90 });
  for (const each of tokens) statistics.add(each);
  const counted = (bars: typeof charts.expiry | null) =>
    bars?.map(({ label, count }) => ({ label, tokens: count }));
  expect(counted(charts.expiry)).toEqual(statistics.byExpiry());
  expect(counted(charts.lastUse)).toEqual(statistics.byLastUse());

  const { send } = await consoleOf(home());
  const whole = await waitForRows(send);
  for (const { from, to, count } of whole.expiry) {
    const range = new URLSearchParams(
      Object.entries({ expiresSince: from, expiresBefore: to }).filter(([, at]) => at),
    );
    const page = (await send(`/api/tokens?limit=0&${range}`)).json();
    // The chart still has all that the range is chosen from.
    expect([from, to, page.total, page.expiry.length]).toEqual([from, to, count, whole.expiry.length]);
    expect(total(page.expiry)).toBe(whole.total);
  }
});

function total(bars: readonly { readonly count: number }[]): number {
  return bars.reduce((sum, { count }) => sum + count, 0);
}
