// A day of rotations, compressed: consumers with files as stores, each rotated every four hours of a day that passes in a few
// minutes, by three schedulers that share a ledger and an audit log in PostgreSQL, while clients read the files and call the API.
// Each consumer is rotated once a period, at most two of its tokens live, no call is refused, and the connections to PostgreSQL are
// bounded.
// Run: npm run build && node bench/rotation-day.ts [--consumers N] [--periods N] [--every SECONDS]
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createDatabase, startPostgres } from '@tokenctl/testing/embedded-postgres.ts';
import pg from 'pg';
import { judge, median, sized } from './support/ratio.ts';
import { api, start } from './support/requests.ts';

const { values } = parseArgs({
  options: {
    consumers: { type: 'string', default: String(sized(500, 6)) },
    periods: { type: 'string', default: String(sized(6, 1)) },
    every: { type: 'string', default: String(sized(120, 60)) },
  },
});
const [consumers, periods, every] = [values.consumers, values.periods, values.every].map(Number) as [
  number,
  number,
  number,
];
const REPLICAS = 3;
const JOBS = 10;
const PROGRAM = join(import.meta.dirname, '../bin/tokenctl.js');
const home = mkdtempSync(join(tmpdir(), 'tokenctl-bench-'));
const names = Array.from({ length: consumers }, (_, number) => `c-${number}`);
const fileOf = (name: string) => join(home, 'tokens', name);

const server = await startPostgres();
const [DATABASE_URL, ledger] = [await createDatabase(server.url), await createDatabase(server.url)];
const service = await start('service-process.ts', { DATABASE_URL });
const [tokens, records] = [DATABASE_URL, ledger].map(
  (connectionString) => new pg.Pool({ connectionString, max: 1, application_name: 'bench' }),
) as [pg.Pool, pg.Pool];

// The server may stop before the last connection is closed. That must not hide why a benchmark failed.
for (const pool of [tokens, records]) pool.on('error', () => undefined);

/** One job for each tenth of the consumers, so that the schedulers share them. */
async function configure(): Promise<void> {
  const { token } = await api<{ token: string }>(service.url, '/api/v2/tokens/', { scope: 'write' });
  mkdirSync(join(home, 'tokens'));
  for (const [file, text] of [
    ['own.token', token],
    ['ledger.url', ledger],
  ] as const)
    writeFileSync(join(home, file), text, { mode: 0o600 });
  const settings = {
    every: `${every}s`,
    lifetime: `${every * 3}s`,
    overlap: `${Math.floor(every / 2)}s`,
    store: 'files',
  };
  const jobs = Array.from({ length: JOBS }, (_, number) => {
    const own = names.filter((_, place) => place % JOBS === number);
    return [`tokens-${number}`, Object.fromEntries(own.map((name) => [name, settings]))] as const;
  }).filter(([, own]) => Object.keys(own).length > 0);
  const database = { file: join(home, 'ledger.url') };
  const text = {
    currentContext: 'lab',
    contexts: { lab: { url: service.url, token: { file: join(home, 'own.token') } } },
    auditLog: { database },
    scheduler: { ledger: { database }, healthPort: 0, runsPerContext: 4 },
    stores: { files: { kind: 'file', file: join(home, 'tokens/{consumer}') } },
    jobs: Object.fromEntries(
      jobs.map(([name, own]) => [
        name,
        { job: 'rotation', schedule: '*/5 * * * * *', dryRun: false, parameters: { consumers: own } },
      ]),
    ),
  };
  // JSON is YAML.
  writeFileSync(join(home, 'tokenctl.yaml'), JSON.stringify(text));
}

function scheduler(): ChildProcess {
  const child = spawn(process.execPath, [PROGRAM, 'jobs', 'start', '--config', join(home, 'tokenctl.yaml')], {
    env: { PATH: process.env['PATH'], HOME: home },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  // A line for each run would hide the figures.
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    for (const line of text.split('\n')) if (/"level":"(error|warn)"|^Error/.test(line)) failures.push(line);
  });
  return child;
}

/** What the schedulers complained about. */
const failures: string[] = [];

function requireRunning(): void {
  if (schedulers.some(({ exitCode }) => exitCode !== null))
    throw new Error(`A scheduler ended: ${failures.join(' ')}`);
}

/** Reads tokens where the programs do, one consumer after the other without a pause, and calls the API with them. */
function client() {
  const over = new AbortController();
  const counts = { calls: 0, refused: 0 };
  const ended = (async () => {
    while (!over.signal.aborted) {
      for (const name of names) {
        const authorization = `Bearer ${readFileSync(fileOf(name), 'utf8').trim()}`;
        const { status } = await fetch(`${service.url}/api/v2/me/`, { headers: { authorization } });
        counts.calls += 1;
        if (status !== 200) counts.refused += 1;
      }
    }
  })();
  return {
    counts,
    async stop() {
      over.abort();
      await ended;
    },
  };
}

/** How many tokens of each consumer live now: the most and the least. */
async function living(): Promise<{ readonly most: number; readonly least: number }> {
  const { rows } = await tokens.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM main_oauth2accesstoken
     WHERE description LIKE 'c-% (lease-%' AND expires > now() GROUP BY split_part(description, ' ', 1)`,
  );
  const counts = rows.map(({ count }) => count);
  return { most: Math.max(...counts), least: rows.length < consumers ? 0 : Math.min(...counts) };
}

/** The connections of the schedulers to PostgreSQL. */
async function connections(): Promise<number> {
  const { rows } = await records.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM pg_stat_activity WHERE application_name LIKE 'tokenctl%' AND datname = current_database()`,
  );
  return rows[0]?.count ?? 0;
}

/** How often each consumer got a new token, according to the audit log. */
async function rotations(): Promise<number[]> {
  const { rows } = await records.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM tokenctl_audit.entry
     WHERE line::json->>'operation' = 'tokens.rotate' AND line::json->>'kind' = 'outcome'
       AND line::json->'data'->>'result' = 'rotated' GROUP BY line::json->'data'->>'consumer'`,
  );
  return rows.map(({ count }) => count);
}

const schedulers: ChildProcess[] = [];
try {
  await configure();
  const began = performance.now();
  for (let number = 0; number < REPLICAS; number += 1) schedulers.push(scheduler());
  while (!names.every((name) => existsSync(fileOf(name)))) {
    requireRunning();
    await pause(100);
  }
  console.log(`${consumers} first tokens in ${((performance.now() - began) / 1000).toFixed(1)} s`);
  const clients = client();
  const [before, started] = [await rotations(), performance.now()];
  let [most, least, used] = [0, Number.POSITIVE_INFINITY, 0];
  while (performance.now() - started < periods * every * 1000) {
    const now = await living();
    [most, least, used] = [
      Math.max(most, now.most),
      Math.min(least, now.least),
      Math.max(used, await connections()),
    ];
    requireRunning();
    await pause(200);
  }
  const after = await rotations();
  await clients.stop();
  const { calls, refused } = clients.counts;
  const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0);
  console.log(
    `${sum(after) - sum(before)} rotations of ${consumers} consumers in ${periods} periods of ${every} s; each ${Math.min(...after) - 1} to ${Math.max(...after) - 1} times; ${calls} calls of clients`,
  );
  const failed = failures.filter((line) => line.includes('"state":"failed"'));
  if (failed.length > 0) console.log(`${failed.length} runs failed, such as ${failed[0]}`);
  judge('runs that fail', failed.length, { atMost: 0 });
  // The last period ends with the measurement: its rotations may come after that.
  const whole = Math.max(1, periods - 1);
  judge('rotations of a consumer / whole periods', median(after.map((count) => (count - 1) / whole)), {
    atLeast: 1,
  });
  judge('rotations of the consumer that got most / periods', (Math.max(...after) - 1) / periods, {
    atMost: 1,
  });
  judge('tokens of a consumer that live at a time, at most', most, { atMost: 2 });
  judge('tokens of a consumer that live at a time, at least', least, { atLeast: 1 });
  judge('calls that are refused', refused, { atMost: 0 });
  judge('connections of a scheduler to PostgreSQL', used / REPLICAS, { atMost: 32 });
} finally {
  const ended = schedulers.map((child) => (child.exitCode === null ? once(child, 'exit') : []));
  for (const child of schedulers) child.kill('SIGTERM');
  await Promise.all(ended);
  service.child.kill('SIGKILL');
  await Promise.all([tokens.end(), records.end()]);
  await server.stop();
  rmSync(home, { recursive: true });
}
