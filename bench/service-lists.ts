// The first pages of the service's lists on PostgreSQL with ten million tokens, one request after another, each in turn with a
// bare Fastify route that looks one token up in the same database. A count reads all rows that a list has; `count_disabled`
// leaves it out, as on the controller.
// Run: node bench/service-lists.ts [tokens]
import { createHash } from 'node:crypto';
import { openPostgres } from '@tokenctl/common/db/postgres.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import { createDatabase, startPostgres } from '@tokenctl/testing/embedded-postgres.ts';
import { judge, median, sized } from './support/ratio.ts';
import { api, start } from './support/requests.ts';

const TOKENS = Number(process.argv[2] ?? sized(10_000_000, 10_000));
const ENTRIES = sized(10_000, 1_000);
const ROUNDS = sized(5, 1);
const REQUESTS = sized(100, 10);

const server = await startPostgres();
const DATABASE_URL = await createDatabase(server.url);
const service = await start('service-process.ts', { DATABASE_URL });
const { token } = await api<{ token: string }>(service.url, '/api/v2/tokens/', {});
const TOKEN_DIGEST = createHash('sha256').update(token).digest('hex');
const bare = await start('bare-lookup.ts', { DATABASE_URL, TOKEN_DIGEST });

async function fill(): Promise<void> {
  const database = await openPostgres({
    url: new Secret(DATABASE_URL),
    applicationName: 'bench',
    responseTimeout: 1_800_000,
  });
  await database.execute(
    `INSERT INTO main_oauth2accesstoken (token, expires, scope, description, user_id)
     SELECT encode(sha256(('list ' || n)::bytea), 'hex'), now() + interval '1 year', 'write', 'pipeline ' || n, 1
     FROM generate_series(1, $1::int) n`,
    [TOKENS],
  );
  await database.execute(
    `WITH entry AS (
       INSERT INTO main_activitystream (operation, timestamp, changes, object1, actor_id, action_node)
       SELECT 'create', now(), '{"scope": "write"}', 'o_auth2_access_token', 1, 'node' FROM generate_series(1, $1::int)
       RETURNING id)
     INSERT INTO main_activitystream_o_auth2_access_token (activitystream_id, oauth2accesstoken_id)
     SELECT id, (SELECT max(id) FROM main_oauth2accesstoken) - row_number() OVER () % $2::int FROM entry`,
    [ENTRIES, TOKENS],
  );
  await database.execute('VACUUM ANALYZE');
  await database.close();
}

/** The times of requests one after another, ascending, in milliseconds. */
async function timesOf(url: string, requests: number): Promise<number[]> {
  const times: number[] = [];
  for (let request = 0; request < requests; request += 1) {
    const started = performance.now();
    const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
    await response.text();
    times.push(performance.now() - started);
    if (response.status !== 200) throw new Error(`${url}: ${response.status}`);
  }
  return times.sort((one, other) => one - other);
}

const p99 = (times: readonly number[]) => times[Math.ceil(times.length * 0.99) - 1] ?? Number.NaN;

interface Measured {
  readonly middle: number[];
  readonly slow: number[];
  readonly bare: number[];
}

/** A list and the bare route in turn; the first round warms both up. */
async function measure(path: string, requests: number): Promise<Measured> {
  const found: Measured = { middle: [], slow: [], bare: [] };
  for (let round = 0; round <= ROUNDS; round += 1) {
    const [lookup, list] = [
      await timesOf(bare.url, requests),
      await timesOf(`${service.url}/api/v2/${path}`, requests),
    ];
    if (round === 0) continue;
    found.middle.push(median(list));
    found.slow.push(p99(list));
    found.bare.push(median(lookup));
  }
  return found;
}

/** How long the database takes to count the tokens: the median of the rounds, in milliseconds. */
async function countAlone(): Promise<number> {
  const database = await openPostgres({ url: new Secret(DATABASE_URL), applicationName: 'bench' });
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const started = performance.now();
    await database.query('SELECT count(*) FROM main_oauth2accesstoken');
    times.push(performance.now() - started);
  }
  await database.close();
  return median(times);
}

try {
  const started = performance.now();
  await fill();
  console.log(`${TOKENS} tokens, filled in ${((performance.now() - started) / 1000).toFixed(0)} s`);
  for (const path of ['tokens/', 'users/1/tokens/']) {
    const { slow } = await measure(`${path}?count_disabled=1`, REQUESTS);
    judge(`${path} of ${TOKENS} tokens without a count, p99 in ms`, slow, { atMost: 20 });
  }
  const counted = await measure('tokens/', sized(3, 1));
  const alone = await countAlone();
  console.log(
    `tokens/ with a count: ${median(counted.middle).toFixed(0)} ms, the count alone ${alone.toFixed(0)} ms`,
  );
  judge('tokens/ with a count / the count alone', median(counted.middle) / alone, { atMost: 1.3 });
  const stream = await measure('activity_stream/', REQUESTS);
  console.log(`a bare lookup: ${median(stream.bare).toFixed(2)} ms`);
  judge(`activity_stream/ of ${ENTRIES} entries with a count, median in ms`, stream.middle, { atMost: 3 });
} finally {
  for (const { child } of [service, bare]) child.kill('SIGKILL');
  await server.stop();
}
