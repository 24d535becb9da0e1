// What the service answers in a second, on PostgreSQL, in one run: GET /api/v2/me/ with a bearer token against a
// bare Fastify route that does one indexed lookup in the same database; tokens by the refresh grant against a bare
// Fastify route that runs the same statements; tokens by the password grant against what the password hash alone
// allows; and that a revoked token is refused by the next request on every replica. On two cores, the client, the
// service and PostgreSQL compete for the processor, so what the service spends on limits, rights and the user's JSON
// shows in the first ratio.
// Run: node bench/service.ts
import { createHash } from 'node:crypto';
import { Worker } from 'node:worker_threads';
import { hashPassword } from '@tokenctl/service/auth/secret-hashes.ts';
import { createDatabase, startPostgres } from '@tokenctl/testing/embedded-postgres.ts';
import pg from 'pg';
import type { Load } from './support/load.ts';
import { judge, median, sized } from './support/ratio.ts';
import { api, start } from './support/requests.ts';

const sender = new Worker(new URL('./support/load.ts', import.meta.url));

const ROUNDS = sized(7, 2);
const REQUESTS = sized(8_000, 500);
const CONNECTIONS = 32;
const perSecond = (count: number, milliseconds: number) => (count / milliseconds) * 1000;

const server = await startPostgres();
const DATABASE_URL = await createDatabase(server.url);
const database = new pg.Pool({ connectionString: DATABASE_URL, max: 1 });
// The server may stop before the last connection is closed. That must not hide why a benchmark failed.
database.on('error', () => undefined);
const one = await start('service-process.ts', { DATABASE_URL });
const two = await start('service-process.ts', { DATABASE_URL });
const { token } = await api<{ token: string }>(one.url, '/api/v2/tokens/', {});
const TOKEN_DIGEST = createHash('sha256').update(token).digest('hex');
const bare = await start('bare-lookup.ts', { DATABASE_URL, TOKEN_DIGEST });
const bareRefresh = await start('bare-refresh.ts', { DATABASE_URL });

try {
  await compareBearer();
  await compareRefresh();
  await measurePassword();
  await measureRevocation();
} finally {
  await sender.terminate();
  for (const { child } of [one, two, bare, bareRefresh]) child.kill('SIGKILL');
  await database.end();
  await server.stop();
}

/** Personal tokens of many users, put straight into the database. */
async function manyTokens(): Promise<string[]> {
  const names = Array.from({ length: 2_000 }, (_, n) => `bearer-${n}`);
  await database.query(
    `WITH owner AS (
       INSERT INTO auth_user (username, password) SELECT 'owner ' || n, '!' FROM generate_series(0, 499) n
       RETURNING id, username)
     INSERT INTO main_oauth2accesstoken (token, expires, scope, user_id)
     SELECT encode(sha256(name::bytea), 'hex'), now() + interval '1 day', 'read', o.id
     FROM unnest($1::text[]) WITH ORDINALITY t (name, n) JOIN owner o ON o.username = 'owner ' || t.n % 500`,
    [names],
  );
  return names;
}

/** GET /api/v2/me/ with the tokens of many users in turn, against the bare lookup. */
async function compareBearer(): Promise<void> {
  const tokens = await manyTokens();
  const repeated = (text: string) => Array.from({ length: REQUESTS }, () => text);
  const me = Array.from({ length: REQUESTS }, (_, n) =>
    get('/api/v2/me/', `Authorization: Bearer ${tokens[n % tokens.length]}\r\n`),
  );
  const lookup = repeated(get('/', ''));
  const common = { connections: CONNECTIONS, expected: 'HTTP/1.1 200' };
  const ratios: number[] = [];
  const speeds: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const reference = await load({ url: bare.url, requests: lookup, ...common });
    const service = await load({ url: one.url, requests: me, ...common });
    // The first round warms both up.
    if (round === 0) continue;
    ratios.push(reference / service);
    speeds.push(perSecond(REQUESTS, service));
  }
  console.log(`bearer GET /api/v2/me/: ${median(speeds).toFixed(0)} a second`);
  judge('bearer GET /api/v2/me/ / bare indexed lookup', ratios, { atLeast: 0.8 });
}

interface Application {
  readonly client_id: string;
}

async function firstOrganization(): Promise<number | undefined> {
  const { results } = await api<{ results: { id: number }[] }>(one.url, '/api/v2/organizations/');
  return results[0]?.id;
}

/** An application of the password grant, which needs no secret. */
async function passwordApplication(): Promise<Application> {
  return api<Application>(one.url, '/api/v2/applications/', {
    name: `bench ${Math.random()}`,
    organization: await firstOrganization(),
    client_type: 'public',
    authorization_grant_type: 'password',
  });
}

/** Requests of the refresh grant. Each refresh token is used once, as rotation requires. */
async function refreshRequests(client_id: string, path: string): Promise<string[]> {
  const count = sized(4_000, 200);
  const name = `${path} ${Math.random()}`;
  await database.query(
    `WITH access AS (
       INSERT INTO main_oauth2accesstoken (token, expires, scope, application_id, user_id)
       SELECT encode(sha256(('access ' || $1 || n)::bytea), 'hex'), now() + interval '1 day', 'write', a.id, 1
       FROM generate_series(1, $2::integer) n, main_oauth2application a WHERE a.client_id = $3
       RETURNING id, application_id)
     INSERT INTO oauth2_provider_refreshtoken (token, access_token_id, application_id, user_id)
     SELECT encode(sha256(($1 || '-' || row_number() OVER ())::bytea), 'hex'), id, application_id, 1
     FROM access`,
    [name, count, client_id],
  );
  return Array.from({ length: count }, (_, n) =>
    form(path, { grant_type: 'refresh_token', refresh_token: `${name}-${n + 1}`, client_id }),
  );
}

/** The refresh grant against a route that runs the same statements, one lookup for each request. */
async function compareRefresh(): Promise<void> {
  const { client_id } = await passwordApplication();
  const common = { connections: CONNECTIONS, expected: 'HTTP/1.1 200' };
  const ratios: number[] = [];
  const speeds: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const forReference = await refreshRequests(client_id, '/');
    const forService = await refreshRequests(client_id, '/api/o/token/');
    const reference = await load({ url: bareRefresh.url, requests: forReference, ...common });
    const service = await load({ url: one.url, requests: forService, ...common });
    // The first round warms both up.
    if (round === 0) continue;
    ratios.push(reference / service);
    speeds.push(perSecond(forService.length, service));
  }
  console.log(`tokens by the refresh grant: ${median(speeds).toFixed(0)} a second`);
  judge('refresh grants / the same statements by a bare route', ratios, { atLeast: 1 });
}

/** The password grant verifies a slow hash, on purpose; the goal is that nothing else holds it up. */
async function measurePassword(): Promise<void> {
  const { client_id } = await passwordApplication();
  const names = Array.from({ length: 8 }, (_, n) => `bench-${n}`);
  const members = `/api/v2/organizations/${await firstOrganization()}/users/`;
  for (const username of names) {
    await api(one.url, members, { username, password: 'long enough' });
  }
  const ratios: number[] = [];
  const speeds: number[] = [];
  const share = 24;
  for (let round = 0; round < sized(5, 1); round++) {
    const started = performance.now();
    await Promise.all(Array.from({ length: share }, (_, n) => hashPassword(`password ${n}`)));
    const hashes = performance.now() - started;
    // A password that was right is remembered for a minute: a new process has not seen these yet.
    const fresh = await start('service-process.ts', { DATABASE_URL });
    const requests = Array.from({ length: share }, (_, n) =>
      form('/api/o/token/', {
        grant_type: 'password',
        username: names[n % names.length] ?? '',
        password: 'long enough',
        client_id,
      }),
    );
    const grants = await load({
      url: fresh.url,
      requests: requests.slice(0, names.length),
      connections: names.length,
      expected: 'HTTP/1.1 200',
    });
    fresh.child.kill('SIGKILL');
    ratios.push(perSecond(names.length, grants) / perSecond(share, hashes));
    speeds.push(perSecond(names.length, grants));
  }
  console.log(`first tokens by the password grant: ${median(speeds).toFixed(1)} a second`);
  judge('password grants a second / password hashes a second', ratios, { atLeast: 0.7 });
}

/** A token that was used on both replicas is deleted on one: the next request on either is refused. */
async function measureRevocation(): Promise<void> {
  let refused = 0;
  const tries = sized(100, 5);
  for (let left = tries; left > 0; left--) {
    const made = await api<{ id: number; token: string }>(one.url, '/api/v2/tokens/', {});
    const headers = { authorization: `Bearer ${made.token}` };
    const me = (base: string) => fetch(`${base}/api/v2/me/`, { headers }).then(({ status }) => status);
    if ((await me(one.url)) !== 200 || (await me(two.url)) !== 200)
      throw new Error('a new token was refused');
    await fetch(`${one.url}/api/v2/tokens/${made.id}/`, { method: 'DELETE', headers });
    const statuses = [await me(two.url), await me(one.url)];
    if (statuses.every((status) => status === 401)) refused++;
  }
  judge('revoked tokens refused by the next request on both replicas', refused / tries, { atLeast: 1 });
}

/** Sends requests from another thread. Returns milliseconds. */
async function load(what: Load): Promise<number> {
  const answer = await new Promise<number | string>((resolve) => {
    sender.once('message', resolve);
    sender.postMessage(what);
  });
  if (typeof answer === 'string') throw new Error(answer);
  return answer;
}

/** The text of a GET request; `headers` in lines that end with CR LF. */
function get(path: string, headers: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n`;
}

/** The text of a POST request with a form. */
function form(path: string, fields: Record<string, string>): string {
  const body = new URLSearchParams(fields).toString();
  return (
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n` +
    `Content-Length: ${body.length}\r\n\r\n${body}`
  );
}
