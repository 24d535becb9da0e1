// The effect of a revocation in the database on the service's clients: eight clients create tokens and use them,
// first alone, then while one hand-written transaction revokes hundreds of thousands of other tokens, then while
// tokenctl revokes as many. No client may get an error, or wait for a lock of tokenctl's. tokenctl has three connections
// and a process of its own to share the cores with.
// Run: npm run build && node bench/database-clients.ts [number of tokens to revoke]
import { setTimeout as pause } from 'node:timers/promises';
import { openPostgres } from '@tokenctl/common/db/postgres.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import { createDatabase, startPostgres } from '@tokenctl/testing/embedded-postgres.ts';
import pg from 'pg';
import { Pool } from 'undici';
import { addTokens } from '../test/support/token-estate.ts';
import { judge, sized } from './support/ratio.ts';
import { api, start } from './support/requests.ts';
import { Tokenctl } from './support/tokenctl-process.ts';

const CLIENTS = 8;
const TOKENS = Number(process.argv[2] ?? sized(300_000, 20_000));

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
for (let first = 1; first <= 2 * TOKENS; first += 50_000) {
  const last = Math.min(first + 49_999, 2 * TOKENS);
  await addTokens(database, { first, last, users: 1, applications: 1 });
}
await database.execute("SELECT setval(pg_get_serial_sequence('main_oauth2accesstoken', 'id'), $1::int)", [
  2 * TOKENS,
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

/** What was seen of locks. */
interface Locks {
  /** The part of all looks at which a connection waited for a lock of tokenctl's. */
  readonly share: number;
  /** The longest wait that was seen, in milliseconds. */
  readonly longest: number;
}

/** Looks again and again whether tokenctl makes another connection wait for a lock. */
async function watchLocks(signal: AbortSignal): Promise<Locks> {
  const watcher = new pg.Client({ connectionString: url, application_name: 'watcher' });
  await watcher.connect();
  let [longest, looks, waits] = [0, 0, 0];
  while (!signal.aborted) {
    const { rows } = await watcher.query<{ waited: number | null }>(
      `SELECT max(extract(epoch FROM clock_timestamp() - a.query_start) * 1000)::float8 AS waited
       FROM pg_stat_activity a WHERE a.application_name <> 'tokenctl' AND a.wait_event_type = 'Lock'
         AND EXISTS (SELECT FROM unnest(pg_blocking_pids(a.pid)) b (pid) JOIN pg_stat_activity t USING (pid)
           WHERE t.application_name = 'tokenctl')`,
    );
    const waited = rows[0]?.waited ?? 0;
    longest = Math.max(longest, waited);
    looks += 1;
    if (waited > 0) waits += 1;
    await pause(10);
  }
  await watcher.end();
  return { share: waits / looks, longest };
}

/** Revokes the first half by hand: the same rows as tokenctl changes, in one transaction. */
async function revokeByHand(): Promise<void> {
  const half = `BETWEEN 1 AND ${TOKENS}`;
  const started = performance.now();
  await database.script(`BEGIN;
    UPDATE oauth2_provider_refreshtoken SET revoked = now(), updated = now(), access_token_id = NULL
      WHERE access_token_id ${half};
    INSERT INTO main_activitystream (operation, timestamp, changes, object1, action_node)
      SELECT 'delete', now(), json_build_object('id', t.id, 'scope', t.scope, 'description', t.description,
        'token', '************')::text, 'o_auth2_access_token', 'hand' FROM main_oauth2accesstoken t WHERE t.id ${half};
    DELETE FROM main_activitystream_o_auth2_access_token WHERE oauth2accesstoken_id ${half};
    DELETE FROM main_oauth2accesstoken WHERE id ${half};
    COMMIT`);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`revoked ${TOKENS} tokens by hand in ${seconds} s meanwhile`);
}

async function revoke(): Promise<void> {
  const args = ['tokens', 'revoke', '--created-before', before, '--yes'];
  const { report } = await tokenctl.run<{ revoked: number; verified: boolean; seconds: number }>(url, args);
  if (report.revoked !== TOKENS || !report.verified)
    throw new Error(`not all was revoked: ${JSON.stringify(report)}`);
  console.log(`revoked ${TOKENS} tokens in ${report.seconds} s meanwhile`);
}

async function during(work: () => Promise<void>): Promise<Seen & { readonly locks: Locks }> {
  const end = new AbortController();
  const both = Promise.all([clients(end.signal), watchLocks(end.signal)]);
  await work().finally(() => end.abort());
  const [seen, locks] = await both;
  return { ...seen, locks };
}

/** The wait that a share of the requests do not exceed, in milliseconds. */
function waitOf({ waits }: Seen, share: number): number {
  const sorted = waits.toSorted((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) * share)] ?? 0;
}

function tell(when: string, seen: Seen): void {
  const { waits, errors } = seen;
  const at = (share: number) => waitOf(seen, share).toFixed(0);
  console.log(
    `${when}: ${waits.length} requests, median ${at(0.5)} ms, 99 % ${at(0.99)} ms, longest ${at(1)} ms, ${errors.length} errors`,
  );
  for (const error of errors.slice(0, 5)) console.log(`  ${error}`);
}

try {
  await during(() => pause(sized(3_000, 500))); // warms up
  const alone = await during(() => pause(sized(10_000, 1_000)));
  tell('alone', alone);
  const byHand = await during(revokeByHand);
  tell('while revoking by hand', byHand);
  const meanwhile = await during(revoke);
  tell('while tokenctl revokes', meanwhile);
  console.log(`longest wait for a lock that tokenctl holds: ${meanwhile.locks.longest.toFixed(0)} ms`);
  const ratioAt = (share: number) => waitOf(meanwhile, share) / waitOf(byHand, share);
  judge('errors seen by clients', meanwhile.errors.length, { atMost: 0 });
  judge('wait of 99 % of requests while tokenctl revokes / by hand', ratioAt(0.99), { atMost: 3 });
  console.log(`longest wait while tokenctl revokes / by hand: ${ratioAt(1).toFixed(2)}`);
  judge('share of time in which a client waits for a lock of tokenctl', meanwhile.locks.share, {
    atMost: 0.01,
  });
} finally {
  await database.close();
  service.child.kill('SIGKILL');
  await server.stop();
}
