// How long a login takes while others guess passwords: 190 wrong ones at a time from one address, then 20 addresses with
// 100 connections that try without a pause. The logins are of users that the service has not seen yet, from an address of
// their own; beside them are a password that was verified before, and a token. All is sent to loopback.
// Run: node bench/password-attacks.ts [--seconds 20] [--connections 100] [--database embedded|postgresql]
import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createDatabase, startPostgres } from '@tokenctl/testing/embedded-postgres.ts';
import type { Flooded, FloodRequest } from './support/flood.ts';
import { send, stopFlood } from './support/other-caller.ts';
import { judge, sized } from './support/ratio.ts';
import { api, start } from './support/requests.ts';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: sized('20', '3') },
    connections: { type: 'string', default: '100' },
    database: { type: 'string', default: 'postgresql' },
  },
});
const SECONDS = Math.min(60, Number(values.seconds));
const CONNECTIONS = Math.min(500, Number(values.connections));
const LIMIT_MS = 2_000;
const USERS = 120;

const basic = (name: string, password: string) =>
  `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`;
const server = values.database === 'postgresql' ? await startPostgres() : null;
const environment = server === null ? {} : { DATABASE_URL: await createDatabase(server.url) };
const { url, child } = await start('filled-service.ts', environment);
try {
  for (let n = 0; n < USERS; n++)
    await api(url, '/api/v2/users/', { username: `login-${n}`, password: 'right' });
  const { token } = await api<{ token: string }>(url, '/api/v2/tokens/', {});
  const users = Array.from({ length: USERS }, (_, n) => basic(`login-${n}`, 'right')).values();
  const report = async (name: string, attack: Promise<Flooded> | null, seconds: number) => {
    const times = { login: [], known: [], token: [] } as Record<'login' | 'known' | 'token', number[]>;
    const until = performance.now() + seconds * 1000;
    for (let n = 0; performance.now() < until && n < 30; n++) {
      const { value, done } = users.next();
      if (done) break;
      times.login.push(await timeOf(value));
      times.known.push(await timeOf(basic('admin', 'bench')));
      times.token.push(await timeOf(`Bearer ${token}`));
      await sleep(100);
    }
    const p99 = (sorted: number[]) => sorted[Math.floor((sorted.length - 1) * 0.99)] ?? Number.NaN;
    const shown = Object.entries(times).map(([what, all]) => {
      const sorted = all.sort((one, other) => one - other);
      const median = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
      return `${what} ${median.toFixed(0)} / ${p99(sorted).toFixed(0)}`;
    });
    console.log(`${name}: ms as median / p99 of ${times.login.length}: ${shown.join(', ')}`);
    if (attack !== null) console.log(`  answers to the attack by status: ${JSON.stringify(await attack)}`);
    judge(`p99 of a login, ${name}, ms`, p99(times.login), { atMost: LIMIT_MS });
  };
  await report('idle', null, sized(10, 1));
  const one = send({
    url,
    requests: guesses(190),
    addresses: ['127.0.0.2'],
    connections: 190,
    seconds: 60,
    atMost: 190,
  });
  await report('190 wrong passwords of one address', one, sized(10, 2));
  const addresses = Array.from({ length: 20 }, (_, n) => `127.0.1.${n + 1}`);
  const many = send({ url, requests: guesses(5_000), addresses, connections: CONNECTIONS, seconds: SECONDS });
  await sleep(1_000);
  await report(`20 addresses, ${CONNECTIONS} connections`, many, SECONDS - 1);
} finally {
  await stopFlood();
  child.kill('SIGKILL');
  await server?.stop();
}

/** Wrong passwords, half of them for names that exist. */
function guesses(count: number): FloodRequest[] {
  return Array.from({ length: count }, (_, n) => ({
    method: 'GET',
    path: '/api/v2/me/',
    headers: { authorization: basic(n % 2 === 0 ? `login-${n % USERS}` : `nobody-${n}`, `wrong ${n}`) },
  }));
}

/** How long a request on a new connection takes, in milliseconds. */
function timeOf(authorization: string): Promise<number> {
  const begun = performance.now();
  return new Promise((resolve, reject) => {
    const agent = new Agent({ keepAlive: false });
    const sent = request(`${url}/api/v2/me/`, {
      agent,
      headers: { authorization },
      localAddress: '127.0.0.1',
    });
    sent.on('response', (answer) => {
      answer.resume().on('end', () => {
        if (answer.statusCode === 200) resolve(performance.now() - begun);
        else reject(new Error(`a valid login got ${answer.statusCode}`));
      });
    });
    sent.on('error', reject).end();
  });
}
