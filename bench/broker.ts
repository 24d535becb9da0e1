// Pipelines that get a token of `broker serve` for an identity: 500 a minute at a steady pace, at a service on PostgreSQL, with the audit
// log and the store of the broker in PostgreSQL too. Then the same, while strangers send what is refused without a pause, among it
// tokens of an issuer whose keys never come. The reference is a token that the service itself makes over REST, in the same run.
// Run: npm run build && node bench/broker.ts
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { createDatabase, startPostgres } from '@tokenctl/testing/embedded-postgres.ts';
import { AUDIENCE, startTransmitter, type Transmitter } from '@tokenctl/testing/transmitter.ts';
import type { Flood, Flooded, FloodRequest } from './support/flood.ts';
import { judge, median, sized } from './support/ratio.ts';
import { api, start } from './support/requests.ts';

const PROGRAM = join(import.meta.dirname, '../bin/tokenctl.js');
const A_MINUTE = 500;
/** In each turn. */
const EXCHANGES = sized(125, 20);
const TURNS = sized(8, 1);
const STRANGERS = sized(8, 2);
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const GRANT = 'urn:ietf:params:oauth:grant-type:token-exchange';
const JWT_TYPE = 'urn:ietf:params:oauth:token-type:jwt';

const server = await startPostgres();
const DATABASE_URL = await createDatabase(server.url);
const RECORDS = await createDatabase(server.url);
const service = await start('service-process.ts', { DATABASE_URL });
const issuer = await discovered();
const drips = await discovered(true);
const folder = mkdtempSync(join(tmpdir(), 'tokenctl-bench-'));
await api(service.url, '/api/v2/users/', { username: 'robot', password: 'a pass phrase of the benchmark' });
const broker = await serve();
try {
  await exchanges(20);
  const ratios: number[] = [];
  const calm: number[] = [];
  const attacked: number[] = [];
  // In turn, so that other load on the machine affects all of them equally.
  for (let turn = 0; turn < TURNS; turn += 1) {
    const made: number[] = [];
    for (let index = 0; index < EXCHANGES / 5; index += 1) {
      const began = performance.now();
      await api(service.url, '/api/v2/tokens/', { scope: 'write' });
      made.push(performance.now() - began);
    }
    const alone = await exchanges(EXCHANGES);
    const { times, refused } = await underAttack();
    ratios.push(median(alone) / median(made));
    calm.push(percentile(alone));
    attacked.push(percentile(times));
    console.log(`refused meanwhile: ${JSON.stringify(refused)}`);
  }
  judge('an exchange / a token that the service makes over REST', ratios, { atMost: 12 });
  judge(`${A_MINUTE} exchanges a minute, 99th percentile, ms`, calm, { atMost: 300 });
  judge('the same while strangers are refused, 99th percentile, ms', attacked, { atMost: 300 });
  const later = attacked.map((time, turn) => time - (calm[turn] ?? Number.NaN));
  judge('how much later that is, ms', later, { atMost: 50 });
} finally {
  broker.end();
  service.child.disconnect();
  await once(service.child, 'exit');
  await issuer.close();
  await drips.close();
  await server.stop();
  rmSync(folder, { recursive: true });
}

/** An issuer with a discovery document, which never comes where it drips. */
function discovered(isDripping = false): Promise<Transmitter> {
  return startTransmitter(async ({ url }, base) => {
    if (isDripping) return await new Promise<never>(() => undefined);
    return url === '/.well-known/openid-configuration'
      ? { status: 200, body: { issuer: base, jwks_uri: `${base}/jwks` } }
      : null;
  });
}

async function serve(): Promise<{ readonly url: string; end(): void }> {
  writeFileSync(join(folder, 'database.url'), DATABASE_URL, { mode: 0o600 });
  writeFileSync(join(folder, 'records.url'), RECORDS, { mode: 0o600 });
  const text = {
    contexts: { db: { database: { file: join(folder, 'database.url') } } },
    auditLog: { database: { file: join(folder, 'records.url') } },
    broker: {
      port: 0,
      audience: AUDIENCE,
      store: { database: { file: join(folder, 'records.url') } },
      issuers: { ci: { url: issuer.issuer }, slow: { url: drips.issuer } },
      rules: {
        deploy: {
          ...{ issuer: 'ci', claims: { repository: 'acme/infra' }, context: 'db', user: 'robot' },
          ...{ lifetime: '1m', live: 10_000, hourly: 100_000 },
        },
      },
    },
  };
  // JSON is YAML.
  writeFileSync(join(folder, 'tokenctl.yaml'), JSON.stringify(text));
  const child = spawn(
    process.execPath,
    [PROGRAM, 'broker', 'serve', '--config', join(folder, 'tokenctl.yaml')],
    {
      env: { PATH: process.env['PATH'], HOME: folder, XDG_STATE_HOME: join(folder, 'state') },
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  );
  let said = '';
  let isOver = false;
  const url = await new Promise<string>((resolve, reject) => {
    child.stderr.setEncoding('utf8').on('data', (data: string) => {
      if (said.length < 10_000) said += data;
      const [, found] = / at (http:\S+)\. Press/.exec(said) ?? [];
      if (found !== undefined) resolve(found);
    });
    child.once('exit', () => {
      if (!isOver) console.error(`the broker ended: ${said}`);
      reject(new Error('the broker did not start'));
    });
  });
  const end = () => {
    isOver = true;
    child.kill('SIGKILL');
  };
  return { url, end };
}

function claims() {
  const exp = Math.floor(Date.now() / 1000) + 600;
  return { aud: AUDIENCE, sub: 'repo:acme/infra', repository: 'acme/infra', jti: randomUUID(), exp };
}

function bodyOf(identity: string): string {
  const form = { grant_type: GRANT, subject_token: identity, subject_token_type: JWT_TYPE };
  return new URLSearchParams(form).toString();
}

/** Milliseconds of each of so many exchanges, at the pace of the goal, whether or not the one before is answered. */
async function exchanges(count: number): Promise<readonly number[]> {
  const bodies: string[] = [];
  for (let index = 0; index < count; index += 1)
    bodies.push(bodyOf(await issuer.sign(claims(), { typ: 'JWT' })));
  const began = performance.now();
  return await Promise.all(
    bodies.map(async (body, index) => {
      await pause(Math.max(0, began + (index * 60_000) / A_MINUTE - performance.now()));
      const sent = performance.now();
      const response = await fetch(`${broker.url}/token`, {
        method: 'POST',
        headers: { ...FORM, 'x-forwarded-for': '192.0.2.1' },
        body,
      });
      const text = await response.text();
      if (response.status !== 200) throw new Error(`the broker answered ${response.status} ${text}`);
      return performance.now() - sent;
    }),
  );
}

/** What strangers send: each is refused. */
async function hostile(): Promise<readonly FloodRequest[]> {
  const [good, dripping] = [
    await issuer.sign(claims(), { typ: 'JWT' }),
    await drips.sign(claims(), { typ: 'JWT' }),
  ];
  const [header = '', payload = '', signature = ''] = good.split('.');
  const none = Buffer.from('{"alg":"none"}').toString('base64url');
  const tokens = [
    `${header}.${payload}.${signature.slice(0, -8)}AAAAAAAA`,
    `${none}.${payload}.`,
    await issuer.sign({ ...claims(), aud: 'another' }, { typ: 'JWT' }),
    await issuer.sign({ ...claims(), repository: 'evil/infra' }, { typ: 'JWT' }),
    await issuer.sign(claims(), { typ: 'JWT', header: { jku: `${drips.issuer}/jwks` } }),
    await issuer.sign(claims(), { typ: 'JWT', kid: 'unknown' }),
    dripping,
    `a.${'b'.repeat(16_000)}.c`,
  ];
  const headers = { ...FORM, 'x-forwarded-for': '203.0.113.9' };
  return [
    ...tokens.map((token) => ({ method: 'POST', path: '/token', headers, body: bodyOf(token) })),
    { method: 'POST', path: '/token', headers, body: 'x'.repeat(1_000_000) },
    { method: 'POST', path: '/revoke', headers, body: `token=${randomUUID()}` },
  ];
}

async function underAttack(): Promise<{ readonly times: readonly number[]; readonly refused: Flooded }> {
  const worker = new Worker(new URL('./support/flood.ts', import.meta.url));
  const flood: Flood = {
    ...{ url: broker.url, requests: await hostile(), connections: STRANGERS },
    seconds: (EXCHANGES * 60) / A_MINUTE + 1,
  };
  const answered = new Promise<Flooded>((resolve) => worker.once('message', resolve));
  worker.postMessage(flood);
  const times = await exchanges(EXCHANGES);
  const refused = await answered;
  await worker.terminate();
  return { times, refused };
}

function percentile(times: readonly number[]): number {
  const sorted = times.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * 0.99) - 1)] ?? Number.NaN;
}
