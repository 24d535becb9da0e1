// The effect of a revocation in the database on the service's clients: eight clients create tokens and use them,
// first alone, then while tokenctl revokes hundreds of thousands of other tokens. No client may get an error, or
// wait more than 250 ms longer.
// Run: npm run build && node bench/database-clients.ts [number of tokens to revoke]
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { Pool } from 'undici';
import { openPostgres } from '../src/db/postgres.ts';
import { Secret } from '../src/domain/secret.ts';
import { createDatabase, startPostgres } from '../test/support/embedded-postgres.ts';
import { addTokens } from '../test/support/token-estate.ts';
import { judge } from './support/ratio.ts';
import { api, start, stopLoad } from './support/requests.ts';
import { Tokenctl } from './support/tokenctl-process.ts';

const CLIENTS = 8;
const TOKENS = Number(process.argv[2] ?? 300_000);

using tokenctl = new Tokenctl();
const server = await startPostgres();
const url = await createDatabase(server.url);
const service = await start('service-process.ts', { DATABASE_URL: url });
const database = await openPostgres({ url: new Secret(url), applicationName: 'bench' });
await api(service.url, '/api/v2/applications/', {
  name: 'bench',
  organization: (await api<{ results: { id: number }[] }>(service.url, '/api/v2/organizations/')).results[0]
    ?.id,
  client_type: 'confidential',
  authorization_grant_type: 'password',
});
await addTokens(database, { first: 1, last: TOKENS, users: 1, applications: 1 });
await database.execute("SELECT setval(pg_get_serial_sequence('main_oauth2accesstoken', 'id'), $1::int)", [
  TOKENS,
]);
await database.execute('VACUUM ANALYZE');
// What the clients make is younger than this, and not meant.
const before = new Date().toISOString();
await pause(10);
const { token } = await api<{ token: string }>(service.url, '/api/v2/tokens/', { scope: 'write' });

/** What clients saw. */
interface Seen {
  /** Of each request, in milliseconds. */
  readonly waits: number[];
  readonly errors: string[];
}

/** Eight clients, each making a token and using it three times, over and over, until the signal. */
async function clients(signal: AbortSignal): Promise<Seen> {
  const pool = new Pool(service.url, { connections: CLIENTS });
  const seen: Seen = { waits: [], errors: [] };
  const send = async (method: 'GET' | 'POST', path: string, bearer: string, expected: number) => {
    const started = performance.now();
    const { statusCode, body } = await pool.request({
      method,
      path,
      headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
      ...(method === 'POST' && { body: '{"scope": "write"}' }),
    });
    const answer = await body.text();
    seen.waits.push(performance.now() - started);
    if (statusCode !== expected) seen.errors.push(`${method} ${path}: ${statusCode} ${answer}`);
    return answer;
  };
  const work = async () => {
    while (!signal.aborted) {
      const made = JSON.parse(await send('POST', '/api/v2/tokens/', token, 201)) as { token: string };
      for (let use = 0; use < 3; use++) await send('GET', '/api/v2/me/', made.token, 200);
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, work));
  await pool.close();
  return seen;
}

/** Whether tokenctl ever made another connection wait for a lock, and for how long at the most (ms). */
async function watchLocks(signal: AbortSignal): Promise<number> {
  const watcher = new pg.Client({ connectionString: url, application_name: 'watcher' });
  await watcher.connect();
  let longest = 0;
  while (!signal.aborted) {
    const { rows } = await watcher.query<{ waited: number | null }>(
      `SELECT max(extract(epoch FROM clock_timestamp() - a.query_start) * 1000)::float8 AS waited
       FROM pg_stat_activity a WHERE a.application_name <> 'tokenctl' AND a.wait_event_type = 'Lock'
         AND EXISTS (SELECT FROM unnest(pg_blocking_pids(a.pid)) b (pid) JOIN pg_stat_activity t USING (pid)
           WHERE t.application_name = 'tokenctl')`,
    );
    longest = Math.max(longest, rows[0]?.waited ?? 0);
    await pause(10);
  }
  await watcher.end();
  return longest;
}

async function revoke(): Promise<void> {
  const args = ['tokens', 'revoke', '--created-before', before, '--yes'];
  const { report } = await tokenctl.run<{ revoked: number; verified: boolean; seconds: number }>(url, args);
  if (report.revoked !== TOKENS || !report.verified)
    throw new Error(`not all was revoked: ${JSON.stringify(report)}`);
  console.log(`revoked ${TOKENS} tokens in ${report.seconds} s meanwhile`);
}

async function during(work: () => Promise<void>): Promise<Seen & { readonly locked: number }> {
  const end = new AbortController();
  const both = Promise.all([clients(end.signal), watchLocks(end.signal)]);
  await work().finally(() => end.abort());
  const [seen, locked] = await both;
  return { ...seen, locked };
}

function tell(when: string, { waits, errors }: Seen): void {
  const sorted = waits.toSorted((a, b) => a - b);
  const at = (share: number) => (sorted[Math.floor((sorted.length - 1) * share)] ?? 0).toFixed(0);
  console.log(
    `${when}: ${sorted.length} requests, median ${at(0.5)} ms, 99 % ${at(0.99)} ms, longest ${at(1)} ms, ${errors.length} errors`,
  );
  for (const error of errors.slice(0, 5)) console.log(`  ${error}`);
}

try {
  await during(() => pause(3_000)); // warms up
  const alone = await during(() => pause(10_000));
  tell('alone', alone);
  const meanwhile = await during(revoke);
  tell('during the revocation', meanwhile);
  judge('errors seen by clients', meanwhile.errors.length, { atMost: 0 });
  judge('longest wait of a client, ms', Math.max(...meanwhile.waits), { atMost: 250 });
  judge('longest wait for a lock that tokenctl holds, ms', meanwhile.locked, { atMost: 250 });
} finally {
  await database.close();
  await stopLoad();
  service.child.kill('SIGKILL');
  await server.stop();
}
