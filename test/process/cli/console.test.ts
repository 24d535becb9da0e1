import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliDecompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { cookieName, KEY_HEADER } from '../../../src/console/access.ts';
import { consoleOf, incidentsOf, type TestConsole, tokensOf } from '../../support/console.ts';
import { estate } from './estate.ts';

const { home } = estate({ users: 12, tokens: 120 });

/** Every route, with something in place of its parameters; the page's own files are open to any browser of this machine. */
function guarded({ routes }: TestConsole) {
  return routes
    .filter(({ url }) => url.startsWith('/api/'))
    .map(({ method, url }) => ({ method: method as 'GET' | 'POST', url: url.replace(':id', 'x') }));
}

describe('who may use a console', () => {
  it('refuses every route for another host, another site, and without cookie or key', async () => {
    const opened = await consoleOf(home());
    const { app, headers } = opened;
    const { cookie, [KEY_HEADER]: key, host = '', origin } = headers as Record<string, string>;
    const attacks: readonly (readonly [number, Record<string, string | undefined>])[] = [
      [421, { ...headers, host: 'rebound.example:8000' }],
      [421, { ...headers, host: 'localhost:8000' }],
      [403, { ...headers, origin: 'http://evil.example' }],
      [403, { ...headers, origin: 'http://127.0.0.1:9999' }],
      [403, { ...headers, origin: 'null' }],
      [403, { ...headers, 'sec-fetch-site': 'cross-site' }],
      [403, { ...headers, 'sec-fetch-site': 'same-site' }],
      [401, { host, origin }],
      [401, { host, origin, cookie }],
      [401, { host, origin, [KEY_HEADER]: key }],
      [401, { host, origin, cookie: `${cookieName(host)}=guessed`, [KEY_HEADER]: key }],
    ];
    const routes = guarded(opened);
    expect(routes.length).toBeGreaterThan(15);
    for (const { method, url } of routes) {
      for (const [status, sent] of attacks) {
        const answer = await app.inject({ method, url, headers: withoutAbsent(sent) });
        expect([method, url, sent, answer.statusCode]).toEqual([method, url, sent, status]);
      }
    }
  });

  it('refuses a change without an origin, as no browser sends it', async () => {
    const { app, headers } = await consoleOf(home());
    const { origin: _, ...others } = headers as Record<string, string>;
    const answer = await app.inject({ method: 'POST', url: '/api/operations', headers: others, payload: {} });
    expect(answer.statusCode).toBe(403);
  });

  it('answers a browser that asks for a page with one, at every address', async () => {
    const { app, headers, send } = await consoleOf(home());
    const { host = '' } = headers;
    const open = (url: string) =>
      app.inject({ url, headers: { host, accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } });
    const pages = [
      ...readFileSync('src/web/console/frame.tsx', 'utf8').matchAll(/\bpath[:=] ?['"](\/.*?)['"]/g),
    ];
    expect(pages.map(([, path]) => path)).toEqual(expect.arrayContaining(['/', '/tokens', '/case']));
    for (const [, path = ''] of pages) {
      const { statusCode, body } = await open(`${path}?place=test`);
      expect([path, statusCode, body]).toEqual([path, 200, expect.stringContaining('id="root"')]);
    }
    for (const url of ['/cases', '/case/inc-1', '/tokens/']) {
      const { statusCode, body } = await open(url);
      expect([url, statusCode, body]).toEqual([url, 404, expect.stringContaining('id="root"')]);
    }
    expect((await app.inject({ url: '/favicon.ico', headers: { host } })).json()).toMatchObject({
      error: { code: 'not_found' },
    });
    for (const url of ['/api/case', '/api/nothing', '/api/console', '/assets/none.js']) {
      const { statusCode, headers: answered, body } = await open(url);
      expect([url, statusCode >= 400, answered['content-type'], body]).toEqual([
        ...[
          url,
          true,
          'text/html; charset=utf-8',
          expect.stringContaining("press Enter in the console's terminal"),
        ],
      ]);
    }
    expect((await send('/api/nothing')).json()).toMatchObject({ error: { code: 'not_found' } });
    const [script = ''] = /\/assets\/main[^"]+\.js/.exec((await open('/')).body) ?? [];
    const compressed = await app.inject({ url: script, headers: { host, 'accept-encoding': 'gzip, br' } });
    expect(compressed.headers).toMatchObject({ 'content-encoding': 'br', vary: 'Accept-Encoding' });
    const plain = await app.inject({ url: script, headers: { host } });
    expect(brotliDecompressSync(compressed.rawPayload)).toEqual(plain.rawPayload);
  });

  it('takes a code once, and for five minutes', async () => {
    let now = 0;
    const { app, access, headers } = await consoleOf(home(), { now: () => now });
    const { host = '' } = headers;
    const open = (code: string) => app.inject({ url: `/open?code=${code}`, headers: { host } });
    const code = access.newCode();
    const looked = await app.inject({ method: 'HEAD', url: `/open?code=${code}`, headers: { host } });
    expect([looked.statusCode, looked.headers['set-cookie']]).toEqual([401, undefined]);
    const first = await open(code);
    expect(first.statusCode).toBe(200);
    expect(first.headers['set-cookie']).toMatch(
      /^tokenctl_console_8000=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/,
    );
    expect(first.headers['cache-control']).toBe('no-store');
    expect((await open(code)).statusCode).toBe(401);
    const late = access.newCode();
    now += 5 * 60_000 + 1;
    expect((await open(late)).statusCode).toBe(401);
    expect((await open('guessed')).statusCode).toBe(401);
  });

  it('refuses every change with --read-only, and plans', async () => {
    const opened = await consoleOf(home(), { readOnly: true });
    const { app, headers, send } = opened;
    const changes = guarded(opened).filter(({ method }) => method !== 'GET' && (method as string) !== 'HEAD');
    const audits = ['/api/audit/comparison', '/api/audit/export'];
    const readsOnly = [
      ...['/api/plans', '/api/saved-plan', '/api/tokens/read-again', '/api/log/verification'],
      '/api/case/investigation',
      ...['/api/investigations', '/api/tokens/value'],
      ...audits,
    ];
    expect(changes.map(({ url }) => url)).toEqual(expect.arrayContaining(['/api/operations', ...readsOnly]));
    for (const { method, url } of changes.filter(({ url }) => !readsOnly.includes(url))) {
      const answer = await app.inject({ method, url, headers, payload: {} });
      expect([url, answer.statusCode, answer.json().error.message]).toEqual([
        ...[url, 403, 'The console was started with --read-only.'],
      ]);
    }
    const { rows } = await tokensOf(opened);
    const request = { kind: 'tokens revoke', place: 'test', ids: [rows[0]?.id] };
    expect((await send('/api/plans', request)).json().text).toMatch(
      /This is the plan\. Nothing has been changed yet\./,
    );
    expect((await tokensOf(opened, '&again')).total).toBe(120);
  });
});

function withoutAbsent(headers: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter((each): each is [string, string] => each[1] !== undefined),
  );
}

describe('a revocation in a console', () => {
  it('is the one of the command: planned, confirmed, recorded and verified', async () => {
    const at = home();
    const opened = await consoleOf(at);
    const { send, reached } = opened;
    const all = await tokensOf(opened);
    const [{ name: user, count } = { name: '', count: 0 }] = all.facets.users;
    const mine = await tokensOf(opened, `&user=${user}`);
    expect([mine.total, new Set(mine.rows.map((row) => row.user?.username))]).toEqual([
      count,
      new Set([user]),
    ]);
    const request = {
      kind: 'tokens revoke',
      place: 'test',
      filter: { user },
      reason: 'a test',
      ticket: 'T-1',
    };
    const begun = (await send('/api/operations', request)).json();
    expect(begun.command).toBe(
      `tokenctl tokens revoke --user ${user} --context test --reason 'a test' --ticket T-1`,
    );

    const { asked } = await reached(begun.id, 'asking');
    expect(asked).toMatchObject({ type: String(count), json: { plan: { accessTokens: count } } });
    const confirm = (answer: object) => send(`/api/operations/${begun.id}/confirm`, answer);
    expect((await confirm({ answer: 'yes', digest: asked?.digest })).statusCode).toBe(409);
    expect((await confirm({ answer: String(count), digest: 'of another plan' })).statusCode).toBe(409);
    expect((await tokensOf(opened, `&user=${user}`)).total).toBe(count);
    expect((await confirm({ answer: String(count), digest: asked?.digest })).statusCode).toBe(200);
    const done = await reached(begun.id, 'done');
    expect(done.result?.text).toMatch(new RegExp(`^Revoked ${count} of ${count} tokens in .*\\nVerified: `));
    expect((await confirm({ answer: String(count), digest: asked?.digest })).statusCode).toBe(409);

    expect((await tokensOf(opened, `&user=${user}`)).total).toBe(0);
    const [run] = JSON.parse((await at.run(['log', 'list', '--json'])).stdout);
    expect(run).toMatchObject({
      ...{ operation: 'tokens.revoke', state: 'done', reason: 'a test', ticket: 'T-1' },
      counts: { revoked: count },
      actor: { as: 'admin' },
    });
    const events = await send(`/api/operations/${begun.id}/events`);
    expect(events.headers['content-type']).toBe('text/event-stream');
    expect(JSON.parse(events.body.slice('data: '.length))).toEqual(done);
  });

  it('changes nothing if it is canceled, or when the console ends', async () => {
    const at = home();
    const opened = await consoleOf(at);
    const { send, reached, operations } = opened;
    const [first, second] = (await tokensOf(opened)).rows;
    const begin = async (id: number | undefined) =>
      (await send('/api/operations', { kind: 'tokens revoke', place: 'test', ids: [id] })).json()
        .id as string;
    const canceled = await begin(first?.id);
    await reached(canceled, 'asking');
    await send(`/api/operations/${canceled}/cancel`, {});
    expect(await reached(canceled, 'canceled')).toMatchObject({ result: null });
    const left = await begin(second?.id);
    await reached(left, 'asking');
    await operations.close();
    expect(operations.get(left)).toMatchObject({ state: 'canceled' });
    expect((await at.run(['log', 'list'])).stdout).toBe('');
  });

  it('needs the second person that the configuration requires', async () => {
    const at = home();
    const key = `${at.folder}/bob.key`;
    const made = await at.run(['plan', 'key', '--name', 'bob', '--output', key, '--json']);
    const rule = { approvers: { bob: JSON.parse(made.stdout).publicKey }, aloneUpTo: 1 };
    appendFileSync(`${at.folder}/.config/tokenctl/tokenctl.yaml`, `approval: ${JSON.stringify(rule)}\n`);
    const opened = await consoleOf(at);
    const { rows } = await tokensOf(opened);
    const begin = async (count: number) => {
      const ids = rows.slice(0, count).map(({ id }) => id);
      return (await opened.send('/api/operations', { kind: 'tokens revoke', place: 'test', ids })).json().id;
    };
    await opened.reached(await begin(1), 'asking');
    await expect(opened.reached(await begin(2), 'asking')).rejects.toThrow(/^failed: .*approv/);
    expect((await at.run(['log', 'list', '--operation', 'tokens'])).stdout).toBe('');
  });
});

it('revokes by a finding, as the command does', async () => {
  const at = home();
  const opened = await consoleOf(at);
  const query = '&finding=never-expires&scope=read';
  const { total } = await tokensOf(opened, query);
  const request = {
    kind: 'tokens revoke',
    place: 'test',
    filter: { finding: 'never-expires', scope: 'read' },
  };
  const planned = (await opened.send('/api/plans', request)).json();
  expect(planned.command).toBe('tokenctl tokens revoke --scope read --finding never-expires --context test');
  expect(planned.json.plan.accessTokens).toBe(total);
});

it('writes commands with the files that it was started with, and what they leave out at the end', async () => {
  const at = home();
  const logFile = join(at.folder, 'another log');
  const opened = await consoleOf(at, { logFile });
  const { send } = opened;
  const some = (await tokensOf(opened)).rows.map(({ id }) => id);
  const ids = [...some, ...some];
  const { command } = (await send('/api/plans', { kind: 'tokens revoke', place: 'test', ids })).json();
  expect(command).toMatch(/^tokenctl tokens revoke --id \d+ --id .* --context test --log-file /);
  expect(command).toContain(`--log-file '${logFile}' # and ${ids.length - 100} more IDs`);
  expect((await send('/api/console')).json().startedWith).toEqual([`--log-file '${logFile}'`]);
});

describe('a lockdown in a console', () => {
  it('is planned as it is chosen, carried out, shown and lifted', { tags: ['long'] }, async () => {
    const at = home();
    const opened = await consoleOf(at);
    const { send, reached } = opened;
    const user = (await tokensOf(opened)).facets.users.at(-1)?.name ?? '';
    const request = {
      kind: 'incident lockdown',
      place: 'test',
      user: [user],
      externalTokensOff: true,
      hours: 4,
    };
    const planned = (await send('/api/plans', request)).json();
    expect(planned.text).toMatch(new RegExp(`^Would lock down .*${user}`));
    expect(planned.command).toBe(
      `tokenctl incident lockdown --user ${user} --external-tokens-off --for 4h --context test`,
    );
    const carryOut = async (change: object) => {
      const { id } = (await send('/api/operations', change)).json();
      const { asked } = await reached(id, 'asking');
      await send(`/api/operations/${id}/confirm`, { answer: asked?.type, digest: asked?.digest });
      return await reached(id, 'done');
    };
    const locked = await carryOut(request);
    expect(locked.result).toMatchObject({ json: { result: 'locked' } });
    const { incidents = [] } = await incidentsOf({ send });
    expect(incidents).toMatchObject([{ state: 'locked', aliveCount: 0 }]);
    const [{ id: incident = '', accessPaths = [] } = {}] = incidents;
    const ways = Object.fromEntries(accessPaths.map(({ name, ...way }) => [name, way]));
    expect(ways).toMatchObject({
      'Access tokens': { state: 'closed' },
      // Each has its own reason.
      'Authorization codes': {
        state: 'not_checked',
        how: expect.stringMatching(/ends at \d.*Z at the latest\.$/),
      },
      Sessions: { state: 'not_checked', how: expect.stringMatching(/over the REST API/) },
      'External tokens': { state: 'closed' },
    });
    const extended = await carryOut({ kind: 'incident extend', place: 'test', incident, hours: null });
    expect(extended.result).toMatchObject({ json: { until: null }, failure: null });
    const lifted = await carryOut({ kind: 'incident lift', place: 'test', incident });
    expect(lifted.result?.text).toMatch(/^Lifted: /);
    expect(
      (await send('/api/log')).json().runs.map(({ operation }: { operation: string }) => operation),
    ).toEqual([...['incident.lift', 'incident.extend', 'incident.lockdown'], 'tokens.revoke']);
  });
});

describe('what a console reads', () => {
  it('answers filters from memory as the command does', { tags: ['long'] }, async () => {
    const at = home();
    const opened = await consoleOf(at);
    const count = async (flags: readonly string[]) =>
      JSON.parse((await at.run(['tokens', 'list', '--json', ...flags])).stdout).length;
    for (const [query, flags] of [
      ['&scope=read', ['--scope', 'read']],
      ['&expiry=expired', ['--expired']],
      ['&expiry=never', ['--never-expires']],
      ['&expiresWithin=400', ['--expires-within', '400d']],
      ['&use=never', ['--never-used']],
      ['&unusedFor=90', ['--unused-for', '90d']],
      ['&user=*a*', ['--user', '*a*']],
      ['&organization=*&scope=read', ['--organization', '*', '--scope', 'read']],
      ['&description=*e*', ['--description', '*e*']],
      ['&finding=never-expires&scope=write', ['--finding', 'never-expires', '--scope', 'write']],
    ] as const) {
      expect([query, (await tokensOf(opened, query)).total]).toEqual([query, await count(flags)]);
    }
  });

  it('has the overview, findings, reports, verification and jobs, and refuses what it does not know', async () => {
    const { send } = await consoleOf(home());
    const read = async (url: string) => (await send(url)).json();
    expect(await read('/api/console')).toMatchObject({
      ...{ places: ['test'], readOnly: false, version: '0.0.0' },
      docs: fileURLToPath(new URL('../../../docs', import.meta.url)),
    });
    expect(await read('/api/overview?place=test')).toMatchObject({ identity: { username: 'admin' } });
    const audit = await read('/api/audit?place=test');
    expect(audit.findings.length).toBe(audit.summary.found);
    const [{ tokenId }] = audit.findings.filter((each: { tokenId: number | null }) => each.tokenId !== null);
    expect((await read(`/api/trace?place=test&id=${tokenId}`)).text).toContain(`${tokenId}`);
    expect((await read('/api/timeline?place=test&user=admin&since=2020-01-01')).document).toEqual(
      expect.arrayContaining([expect.objectContaining({ kind: 'table' })]),
    );
    expect((await read('/api/runbooks?name=stolen-token')).text).toMatch(/^# /);
    expect(await read('/api/jobs')).toEqual({ warning: null, jobs: [], runs: [] });
    for (const [url, status] of [
      ['/api/overview?place=other', 404],
      ['/api/overview?place=test/controller/x', 404],
      ['/api/overview', 400],
      ['/api/tokens?finding=no-rule', 400],
      ['/api/runbooks?name=../../package', 400],
      ['/api/tokens?sort=password', 400],
      ['/api/tokens?limit=501', 400],
      ['/api/operations/none', 404],
      ['/api/nothing', 404],
      ['/assets/..%2f..%2fpackage.json', 404],
    ] as const) {
      expect([url, (await send(url)).statusCode]).toEqual([url, status]);
    }
    expect(
      (await send('/api/operations', { kind: 'tokens revoke', place: 'test', ids: [1], more: 1 })).statusCode,
    ).toBe(400);
  });
});
