import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '@tokenctl/testing/until.ts';
import { describe, expect, it, onTestFinished } from 'vitest';
import { cookieName, KEY_HEADER } from '../../../src/console/access.ts';
import type { CaseRead } from '../../../src/console/case/cases.ts';
import type { OperationState } from '../../../src/console/operations.ts';
import { runConsole } from '../../../src/console/server.ts';
import { consoleOf, incidentsOf, type TestConsole, tokensOf } from '../../support/console.ts';
import { type Gate, startGate } from '../../support/gate.ts';
import { estate, type Home } from './estate.ts';

const east = estate({ users: 12, tokens: 160 });
const west = estate({ users: 4, tokens: 20 });

/** A home whose context reaches its service through a gate. */
async function gated(): Promise<{ at: Home; gate: Gate }> {
  const at = east.home();
  const gate = await startGate(east.url());
  onTestFinished(gate.close);
  const file = join(at.folder, '.config/tokenctl/tokenctl.yaml');
  writeFileSync(file, readFileSync(file, 'utf8').replace(east.url(), gate.url));
  return { at, gate };
}

/** The ids of tokens that no other test takes: those that were revoked are not listed any more. */
async function idsOf(at: Home, count: number): Promise<number[]> {
  const { stdout } = await at.run(['tokens', 'list', '--json']);
  return (JSON.parse(stdout) as { readonly id: number }[]).slice(0, count).map(({ id }) => id);
}

async function planned({ send, reached }: TestConsole, request: object): Promise<OperationState> {
  const { id } = (await send('/api/operations', { kind: 'tokens revoke', place: 'test', ...request })).json();
  return await reached(id, 'asking');
}

async function confirmed({ send }: TestConsole, { id, asked }: OperationState): Promise<void> {
  await send(`/api/operations/${id}/confirm`, { answer: asked?.type, digest: asked?.digest });
}

const revokedBy = ({ result }: OperationState) =>
  (result?.json as { readonly revoked: number } | null)?.revoked;

async function runs(at: Home) {
  const { stdout } = await at.run(['log', 'list', '--json']);
  return JSON.parse(stdout) as {
    operation: string;
    state: string;
    counts: { revoked?: number; failed?: number };
    open: number[];
  }[];
}

describe('several at once', () => {
  it('two consoles of one home revoke the same tokens once, in one audit log', async () => {
    const at = east.home();
    const consoles = [await consoleOf(at), await consoleOf(at)];
    const ids = await idsOf(at, 6);
    const plans = await Promise.all(consoles.map((each) => planned(each, { ids })));
    await Promise.all(consoles.map((each, index) => confirmed(each, plans[index] as OperationState)));
    const ended = await Promise.all(
      consoles.map((each, index) => each.reached(plans[index]?.id ?? '', 'done')),
    );
    expect(ended.map(({ failure, result }) => failure ?? result?.failure)).toEqual([null, null]);
    const recorded = await runs(at);
    expect(recorded).toMatchObject([
      { operation: 'tokens.revoke', state: 'done', open: [] },
      { operation: 'tokens.revoke', state: 'done', open: [] },
    ]);
    const sum = ended.reduce((total, each) => total + Number(revokedBy(each)), 0);
    expect(sum).toBe(6);
    expect(await at.run(['log', 'verify'])).toMatchObject({ code: 0 });
  });

  it('works in two contexts, each as it was planned', async () => {
    const at = east.home();
    const file = join(at.folder, '.config/tokenctl/tokenctl.yaml');
    appendFileSync(
      file,
      `  west: { url: "${west.url()}", username: admin, password: { file: "${at.folder}/admin.password" } }\n`,
    );
    const opened = await consoleOf(at, { context: 'test,west' });
    const inWest = await at.run(['tokens', 'list', '--json', '--context', 'west']);
    const requests = [
      { place: 'test', ids: await idsOf(at, 5) },
      { place: 'west', ids: JSON.parse(inWest.stdout).map(({ id }: { id: number }) => id) },
    ];
    const plans = await Promise.all(requests.map((request) => planned(opened, request)));
    await Promise.all(plans.map((plan) => confirmed(opened, plan)));
    const ended = await Promise.all(plans.map(({ id }) => opened.reached(id, 'done')));
    expect(ended.map((each) => [each.place, each.result?.failure, revokedBy(each)])).toMatchObject([
      ['test', null, 5],
      ['west', null, requests[1]?.ids.length],
    ]);
    expect(await at.run(['log', 'verify'])).toMatchObject({ code: 0 });
    expect((await runs(at)).map(({ open }) => open)).toEqual([[], []]);
  });
});

describe('what goes wrong', () => {
  it.each(['/dev/null/audit.jsonl', '/dev/full'])(
    'changes nothing without an audit log (%s)',
    async (logFile) => {
      const at = east.home();
      const opened = await consoleOf(at, { logFile });
      const ids = await idsOf(at, 2);
      const begun = await opened.send('/api/operations', { kind: 'tokens revoke', place: 'test', ids });
      const { id } = begun.json();
      const state = await opened.reached(id, 'asking', 'failed');
      if (state.state === 'asking') await confirmed(opened, state);
      expect(await opened.reached(id, 'failed')).toMatchObject({ failure: { code: 'audit_unavailable' } });
      expect(await idsOf(at, 2)).toEqual(ids);
    },
  );

  it('a target that stops answering leaves a record, and the work can be finished', async () => {
    const { at, gate } = await gated();
    const opened = await consoleOf(at);
    const ids = await idsOf(at, 6);
    const plan = await planned(opened, { ids });
    gate.shut();
    await confirmed(opened, plan);
    await gate.holds();
    gate.cut();
    const ended = await opened.reached(plan.id, 'done', 'failed');
    expect(ended.failure ?? ended.result?.failure).toMatchObject({ code: expect.any(String) });
    expect((await opened.send('/api/overview?place=test')).statusCode).toBe(502);
    gate.open();
    const again = await planned(opened, { ids });
    await confirmed(opened, again);
    const done = await opened.reached(again.id, 'done');
    expect(done.result?.failure).toBe(null);
    expect((await idsOf(at, 200)).filter((id) => ids.includes(id))).toEqual([]);
    expect(await at.run(['log', 'verify'])).toMatchObject({ code: 0 });
  });

  it('a lockdown that stopped is shown by its record while the target is away, and finished from its case', async () => {
    const { at, gate } = await gated();
    const opened = await consoleOf(at);
    const { send } = opened;
    const user = (await tokensOf(opened)).facets.users.at(-1)?.name ?? '';
    const started = await planned(opened, {
      kind: 'incident lockdown',
      ...{ user: [user], externalTokensOff: true },
    });
    gate.shut();
    await confirmed(opened, started);
    await gate.holds();
    gate.cut();
    const stopped = await opened.reached(started.id, 'done');
    expect((await send('/api/operations')).json()).toMatchObject({ operations: [{ outcome: 'partly' }] });
    expect(await runs(at)).toContainEqual(
      expect.objectContaining({ operation: 'incident.lockdown', state: 'partly' }),
    );

    const { incident = '' } = (stopped.result?.json ?? {}) as { readonly incident?: string };
    const read = async () => (await send(`/api/case?place=test&incident=${incident}`)).json() as CaseRead;
    expect(await read()).toMatchObject({
      incident: { id: incident, state: 'partly', holds: null },
      unread: { problem: { code: 'target_unreachable' }, last: { holds: null, at: expect.any(String) } },
      finish: null,
    });
    expect(await incidentsOf({ send })).toMatchObject({
      unread: { code: 'target_unreachable' },
      incidents: [{ id: incident, holds: null, notSeen: expect.any(String) }],
    });
    const report = await send(`/api/case/report?place=test&incident=${incident}&format=html`);
    expect([report.statusCode, report.body]).toEqual([200, expect.stringContaining(incident)]);
    expect((await send('/api/case?place=test&incident=inc-00000000')).statusCode).toBe(502);

    gate.open();
    const open = await read();
    expect(open).toMatchObject({ unread: null, incident: { holds: false } });
    expect(open.finish).toEqual({
      ...{ kind: 'incident lockdown', user: [user] },
      ...{ basicAuthOff: false, externalTokensOff: true, shortenLifetimes: false },
    });
    const again = await planned(opened, open.finish ?? {});
    await confirmed(opened, again);
    const finished = await opened.reached(again.id, 'done');
    expect(finished.result?.json).toMatchObject({ incident, result: 'locked' });
    const ended = (await runs(at)).findLast(({ operation }) => operation === 'incident.lockdown');
    expect(finished.outcome).toBe(ended?.state);
    const { incident: now, finish } = await read();
    expect([now.holds, finish]).toEqual([true, null]);
    gate.cut();
    expect(await read()).toMatchObject({ incident: { holds: null }, unread: { last: { holds: true } } });
  });

  it('ends with Ctrl-C once what is in flight is recorded', async () => {
    const { at, gate } = await gated();
    const ids = await idsOf(at, 6);
    const console = at.start(['console', '--no-open']);
    const printed = await console.says(/Open this address within five minutes: \S+\n/);
    const page = await openPage(new URL(printed.slice(printed.indexOf('http')).trim()));
    const plan = await page.reached(
      (await page.send('/api/operations', { kind: 'tokens revoke', place: 'test', ids })).id,
      'asking',
    );
    gate.shut();
    await page.send(`/api/operations/${plan.id}/confirm`, {
      answer: plan.asked?.type,
      digest: plan.asked?.digest,
    });
    await gate.holds();
    console.kill('SIGINT');
    await console.says(/Stopping: a change in progress is finished and recorded first/);
    gate.open();
    const { stderr, code } = await console.ended;
    expect(code).toBe(0);
    expect(stderr).toMatch(/\ntokens revoke at test: .*\d of 6 tokens/);
    const [run] = await runs(at);
    expect(run).toMatchObject({ operation: 'tokens.revoke', open: [] });
    const left = (await idsOf(at, 200)).filter((id) => ids.includes(id));
    // A slow service may not respond within the second that an interruption waits: such a token is not called revoked.
    const { revoked = 0, failed = 0 } = run?.counts ?? {};
    expect(left.length).toBeLessThanOrEqual(6 - revoked);
    expect(left.length).toBeGreaterThanOrEqual(6 - revoked - failed);
    expect(await at.run(['log', 'verify'])).toMatchObject({ code: 0 });
  });

  it('ends after half an hour without use, whatever a page follows', async () => {
    const at = east.home();
    let now = 0;
    const lines: string[] = [];
    const ended = runConsole({
      flags: { context: undefined, config: undefined, logFile: undefined, databaseFile: undefined },
      ...{ allContexts: false, port: 0, open: false, readOnly: false, attended: false, version: '0.0.0' },
      environment: { HOME: at.folder },
      root: process.cwd(),
      notify: (line) => lines.push(line),
      idleClock: { now: () => now, checkEveryMs: 20 },
    });
    await until(() => lines.length === 2);
    const page = await openPage(new URL(/http:\S+$/.exec(lines[1] ?? '')?.[0] ?? ''));
    const ids = await idsOf(at, 1);
    const { id } = await page.send('/api/operations', { kind: 'tokens revoke', place: 'test', ids });
    now += 29 * 60_000;
    await page.reached(id, 'asking');
    now += 29 * 60_000;
    // What the page asks by itself, and the events of a plan, are no use.
    const events = await page.fetch(`/api/operations/${id}/events`, { 'x-console-quiet': '1' });
    expect(events.status).toBe(200);
    now += 2 * 60_000;
    await ended;
    expect(lines.at(-1)).toBe('The console was not used for 30 minutes and is stopping.');
    expect(await events.text().catch(() => 'cut off')).toBeTruthy();
    expect(await idsOf(at, 1)).toEqual(ids);
  });
});

/** What a browser does with an address of the terminal. */
async function openPage(address: URL) {
  const { host, origin } = address;
  const opened = await fetch(address);
  const cookie = opened.headers.getSetCookie()[0]?.split(';')[0] ?? '';
  expect(cookie).toContain(cookieName(host));
  const key = / content="([\w-]{43})"/.exec(await opened.text())?.[1] ?? '';
  const request = (path: string, more: Readonly<Record<string, string>> = {}, body?: object) =>
    fetch(new URL(path, origin), {
      headers: { cookie, origin, [KEY_HEADER]: key, 'content-type': 'application/json', ...more },
      ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
    });
  return {
    fetch: request,
    send: async (path: string, body: object) =>
      (await request(path, {}, body)).json() as Promise<OperationState>,
    /** Asks until an operation is in a state. */
    async reached(id: string, wanted: OperationState['state']): Promise<OperationState> {
      const read = async () => (await (await request(`/api/operations/${id}`)).json()) as OperationState;
      return await until(read, ({ state }) => state === wanted);
    },
  };
}
