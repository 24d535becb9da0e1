import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AUDIENCE } from '@tokenctl/testing/transmitter.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BrokerWorld, brokerWorld, exchange } from '../../support/broker-world.ts';
import { startTokenctl } from './program.ts';

let world: BrokerWorld;
let url: string;
beforeAll(async () => {
  world = await brokerWorld();
  ({ url } = await world.serve());
});
afterAll(() => world[Symbol.asyncDispose]());

const post = (path: string, form: Readonly<Record<string, string>>) =>
  fetch(`${url}${path}`, { method: 'POST', body: new URLSearchParams(form) });

/** The answer to an identity that is refused, as one text. */
async function refusal(identity: string, more = {}): Promise<string> {
  const { status, answer } = await exchange(url, identity, more);
  return `${status} ${answer['error']}: ${answer['error_description']}`;
}

test('an identity gets a token once, which is recorded before, ends when it is given back, and is written nowhere', async () => {
  const identity = await world.identity();
  const { status, headers, answer, token } = await exchange(url, identity);
  expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
  expect(answer).toEqual({
    access_token: token,
    issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    token_type: 'Bearer',
    expires_in: 900,
    scope: 'write',
    controller_host: world.service.url,
  });
  expect(await world.status(token)).toBe(200);
  expect(await refusal(identity)).toBe('400 invalid_request: This identity was used before');
  const [intent, outcome] = world.entries();
  expect(intent).toMatchObject({ kind: 'intent', operation: 'tokens.create', actor: { broker: 'deploy' } });
  expect(intent?.data).toMatchObject({
    user: 'robot',
    lease: { why: 'broker', seconds: 900, origin: { rule: 'deploy', claims: { run_id: '4711' } } },
  });
  expect(outcome).toMatchObject({ kind: 'outcome', data: { result: 'done' } });
  const id = String(outcome?.data['token']);
  const counted = JSON.parse((await world.run('tokens', 'list', '--count-by', 'origin', '--json')).stdout);
  expect(counted).toContainEqual({ name: 'broker', tokens: 1 });
  // As a shell hands it to curl.
  expect((await post('/revoke', { token: `${token}\n` })).status).toBe(200);
  expect(await world.status(token)).toBe(401);
  expect((await post('/revoke', { token: 'no-token-of-this-broker' })).status).toBe(200);
  const trace = await world.run('tokens', 'trace', id);
  expect(trace.stdout).toMatch(/broker, rule deploy, for an identity of ci[\s\S]+run_id: 4711/);
  const text = JSON.stringify(world.entries());
  expect([text.includes(token), text.includes(identity)]).toEqual([false, false]);
});

test('over REST, tokens are of the account of the broker; a rule has limits, which an ended token leaves', async () => {
  const report = (claims = {}) => world.identity({ repository: 'acme/report', ...claims });
  const first = await exchange(url, await report(), { scope: 'read' });
  expect([first.status, first.answer['scope'], first.answer['expires_in']]).toEqual([200, 'read', 300]);
  expect(await world.status(first.token)).toBe(200);
  const second = await report();
  expect(await refusal(second)).toBe('429 temporarily_unavailable: As many tokens of this rule live as may');
  expect(await refusal(await report(), { scope: 'write' })).toContain('400 invalid_scope');
  expect(world.entries().at(-1)).toMatchObject({
    operation: 'broker.refuse',
    data: { problem: 'invalid_scope', rules: ['report'], claims: { run_id: '4711' } },
  });
  await post('/revoke', { token: first.token });
  expect((await exchange(url, second)).status).toBe(200);
});

test('who fits no rule, or asks for something else, gets nothing, and a person finds out', async () => {
  expect(await refusal(await world.identity({ ref: 'refs/heads/evil' }))).toBe(
    '400 invalid_request: No rule gives this identity a token',
  );
  expect(world.entries().at(-1)).toMatchObject({
    operation: 'broker.refuse',
    data: { problem: 'no_rule', claims: { ref: 'refs/heads/evil', run_id: '4711' } },
  });
  expect((await world.run('log', 'list')).stdout).toContain('No rule gives this identity a token');
  const identity = await world.identity();
  expect(await refusal(identity, { audience: 'rest' })).toContain('400 invalid_target');
  expect(await refusal(identity, { resource: 'https://x' })).toContain('400 invalid_target');
  expect(await refusal(identity, { actor_token: 'x' })).toContain('400 invalid_request');
  expect(await refusal(identity, { subject_token_type: 'saml2' })).toContain('400 invalid_request');
  expect(await refusal(identity, { grant_type: 'password' })).toContain('400 unsupported_grant_type');
  expect(await refusal('')).toContain('needs a subject_token');
  expect(await refusal(await world.identity({}, { typ: 'secevent+jwt' }))).toContain('400 invalid_request');
  for (const aud of ['https://elsewhere.example', [AUDIENCE, 'https://elsewhere.example']]) {
    expect(await refusal(await world.identity({ aud, run_id: '4712', sub: String(aud) }))).toContain('400 i');
    expect(world.entries().at(-1)).toMatchObject({
      operation: 'broker.refuse',
      data: { problem: 'invalid_identity', claims: { run_id: '4712' } },
    });
  }
  const twice = new URLSearchParams([
    ['token', 'a'],
    ['token', 'b'],
  ]);
  expect((await fetch(`${url}/revoke`, { method: 'POST', body: twice })).status).toBe(400);
  expect((await fetch(`${url}/token`, { method: 'POST', body: '{}' })).status).toBe(415);
  expect((await exchange(url, 'a'.repeat(1_000_000))).status).toBe(413);
  expect(await refusal(`a.${'b'.repeat(20_000)}.c`)).toContain('too long');
  expect((await exchange(url, identity, { audience: 'db' })).status).toBe(200);
  const metrics = await (await fetch(`${url}/metrics`)).text();
  expect(metrics).toContain('tokenctl_broker_exchanges_total{result="no_rule"} 1');
});

test('a rule that is stopped, and one whose user is locked down, gives nothing, and what lives ends', async () => {
  const living = await exchange(url, await world.identity());
  const stopped = await world.run('broker', 'stop', 'deploy', '--yes', '--reason', 'test', '--json');
  expect([stopped.code, JSON.parse(stopped.stdout)]).toMatchObject([0, { stopped: true }]);
  expect(await world.status(living.token)).toBe(401);
  const identity = await world.identity();
  expect(await refusal(identity)).toBe('400 invalid_request: This rule is stopped');
  expect((await world.run('broker', 'resume', 'deploy', '--yes')).stdout).toContain('gives tokens again');
  const again = await exchange(url, identity);
  expect(again.status).toBe(200);
  const { stdout } = await world.run('incident', 'lockdown', '--user', 'robot', '--yes', '--context', 'db');
  expect(stdout).toContain('Rules of the broker that give no tokens while it is open: deploy.');
  expect(await world.status(again.token)).toBe(401);
  expect(await refusal(await world.identity())).toContain('is stopped');
  const [incident = ''] = /inc-[0-9a-f]{8}/.exec(stdout) ?? [];
  await world.run('incident', 'lift', incident, '--yes', '--accept-sessions');
  expect((await exchange(url, await world.identity())).status).toBe(200);
});

test('a program runs with a token for the identity of its run, and gives it back', async () => {
  const script = `fetch(process.env.CONTROLLER_HOST + '/api/v2/me/', { headers: { authorization: 'Bearer ' + process.env.AAP_TOKEN } })
    .then(({ status }) => { console.log(JSON.stringify([status, process.env.AAP_TOKEN, process.env.TOKENCTL_IDENTITY])); process.exit(3); })`;
  const exec = (env: Readonly<Record<string, string>>, ...flags: readonly string[]) =>
    startTokenctl(['exec', '--via', url, ...flags, '--', process.execPath, '-e', script], {
      env: { HOME: world.folder, ...env },
    }).ended;
  const github = {
    ACTIONS_ID_TOKEN_REQUEST_URL: `${world.issuer.issuer}/identity?api-version=2`,
    ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'of-the-run',
  };
  const file = join(world.folder, 'identity');
  writeFileSync(file, `${await world.identity()}\n`);
  for (const run of [
    exec({ TOKENCTL_IDENTITY: await world.identity() }),
    exec({ MINE: await world.identity() }, '--identity-env', 'MINE', '--scope', 'read'),
    exec({}, '--identity-file', file),
    exec(github, '--identity-audience', AUDIENCE),
  ]) {
    const { code, stdout, stderr } = await run;
    const [status, token, identity] = JSON.parse(stdout || '[]');
    expect([code, status, identity, stderr.includes(token)], stderr).toEqual([3, 200, null, false]);
    expect(await world.status(token)).toBe(401);
  }
  const none = await exec({});
  expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('TOKENCTL_IDENTITY is not set')]);
  const other = await exec(github);
  expect([other.code, other.stderr]).toEqual([4, expect.stringContaining('claim aud')]);
});

test('a pipeline launches a job with a limit, and ends: nothing is left, and the trace names the run', async () => {
  const script = `const { CONTROLLER_HOST: host, AAP_TOKEN: token } = process.env;
    const send = async (method, path, body) => (await fetch(host + path, { method, body: body && JSON.stringify(body),
      headers: { authorization: 'Bearer ' + token, 'content-type': 'application/json' } })).json();
    const { results: [template] } = await send('GET', '/api/v2/job_templates/');
    await send('PATCH', template.url, { ask_limit_on_launch: true });
    console.log(JSON.stringify(await send('POST', template.url + 'launch/', { limit: 'localhost' })));`;
  const program = [process.execPath, '--input-type=module', '-e', script];
  const before = world.entries().length;
  const { code, stdout, stderr } = await startTokenctl(['exec', '--via', url, '--', ...program], {
    env: { HOME: world.folder, TOKENCTL_IDENTITY: await world.identity({ run_id: '815', actor: 'kim' }) },
  }).ended;
  expect(code, stderr).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ type: 'job', limit: 'localhost' });
  const made = world
    .entries()
    .slice(before)
    .find(({ kind, data }) => kind === 'outcome' && data['token']);
  const trace = await world.run('tokens', 'trace', String(made?.data['token']), '--json');
  expect(JSON.parse(trace.stdout)).toMatchObject({
    token: null,
    origin: { rule: 'deploy', issuer: 'ci', claims: { run_id: '815', actor: 'kim' } },
  });
});

test('what was used stays used after a restart, and what a killed one left ends', async () => {
  const identity = await world.identity();
  const { token } = await exchange(url, identity);
  const second = await world.serve();
  const again = await exchange(second.url, identity);
  expect([again.status, again.answer['error_description']]).toEqual([400, 'This identity was used before']);
  second.process.kill('SIGTERM');
  expect(await second.process.ended).toMatchObject({ code: 0 });
  expect(await world.status(token)).toBe(200);
  await post('/revoke', { token });
});
