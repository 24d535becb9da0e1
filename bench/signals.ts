// From the arrival of a security event at `signals serve` until the user's token is rejected, at a service on PostgreSQL
// with 20,000 other users of the provider: in the database and over REST, one event after another and ten at once. The
// 99th percentile decides.
// Run: npm run build && node bench/signals.ts
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openPostgres } from '@tokenctl/common/db/postgres.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import { createDatabase, startPostgres } from '@tokenctl/testing/embedded-postgres.ts';
import { AUDIENCE, EVENTS, startTransmitter, type Transmitter } from '@tokenctl/testing/transmitter.ts';
import { judge, sized } from './support/ratio.ts';
import { api, start } from './support/requests.ts';

const PROGRAM = join(import.meta.dirname, '../bin/tokenctl.js');
const ONE_BY_ONE = sized(200, 3);
const AT_ONCE = sized(10, 2);
const GROUPS = sized(10, 1);
/** Other users of the same provider: over REST, none of them may have to be read. */
const CROWD = sized(20_000, 400);
const PASSWORD = 'a pass phrase of the benchmark';

/** A user with a token, and the subject of an event. */
interface Member {
  readonly name: string;
  readonly token: string;
}

const server = await startPostgres();
const transmitter = await startTransmitter();
try {
  await measure('database', 1000);
  await measure('rest', 3000);
} finally {
  await transmitter.close();
  await server.stop();
}

async function measure(context: 'database' | 'rest', goal: number): Promise<void> {
  const DATABASE_URL = await createDatabase(server.url);
  const { url, child } = await start('service-process.ts', { DATABASE_URL });
  const folder = mkdtempSync(join(tmpdir(), 'tokenctl-bench-'));
  const members = await fill(url, DATABASE_URL, ONE_BY_ONE + AT_ONCE * GROUPS);
  const receiver = await receive(folder, { context, url, databaseUrl: DATABASE_URL, transmitter });
  try {
    const alone: number[] = [];
    for (const member of members.slice(0, ONE_BY_ONE)) alone.push(await refusal(receiver.url, url, member));
    const together: number[] = [];
    for (let group = 0; group < GROUPS; group += 1) {
      const begin = ONE_BY_ONE + group * AT_ONCE;
      const times = members.slice(begin, begin + AT_ONCE).map((member) => refusal(receiver.url, url, member));
      together.push(...(await Promise.all(times)));
    }
    const where = context === 'database' ? 'in the database' : 'over REST';
    judge(`${where}: from an event to the refusal of the token, 99th percentile, ms`, percentile(alone), {
      atMost: goal,
    });
    judge(`${where}: the same, ${AT_ONCE} events at once, ms`, percentile(together), { atMost: goal });
  } finally {
    receiver.end();
    child.disconnect();
    await once(child, 'exit');
    rmSync(folder, { recursive: true });
  }
}

/** Creates users of the provider `bench`, each with a token. */
async function fill(url: string, databaseUrl: string, count: number): Promise<readonly Member[]> {
  const database = await openPostgres({ url: new Secret(databaseUrl), applicationName: 'bench' });
  const members: Member[] = [];
  for (let index = 0; index < count; index += 1) {
    const name = `member-${index}`;
    const user = { username: name, password: PASSWORD, email: `${name}@example.org` };
    const { id } = await api<{ id: number }>(url, '/api/v2/users/', user);
    const response = await fetch(`${url}/api/v2/tokens/`, {
      method: 'POST',
      headers: {
        authorization: `Basic ${Buffer.from(`${name}:${PASSWORD}`).toString('base64')}`,
        'content-type': 'application/json',
      },
      body: '{"scope":"write"}',
    });
    const { token } = (await response.json()) as { readonly token: string };
    await database.execute(
      `INSERT INTO social_auth_usersocialauth (provider, uid, extra_data, user_id, created, modified)
       VALUES ('bench', $1, '{}', $2, now(), now())`,
      [name, id],
    );
    members.push({ name, token });
  }
  await database.execute(
    `WITH made AS (
       INSERT INTO auth_user (password, is_superuser, username, first_name, last_name, email, is_staff, is_active, date_joined)
       SELECT '!', false, 'crowd-' || n, '', '', 'crowd-' || n || '@example.org', false, true, now()
       FROM generate_series(1, $1::int) n RETURNING id, username)
     INSERT INTO social_auth_usersocialauth (provider, uid, extra_data, user_id, created, modified)
     SELECT 'bench', username, '{}', id, now(), now() FROM made`,
    [CROWD],
  );
  await database.execute('VACUUM ANALYZE');
  await database.close();
  return members;
}

/** Starts the built program as a receiver. */
async function receive(
  folder: string,
  options: {
    readonly context: string;
    readonly url: string;
    readonly databaseUrl: string;
    readonly transmitter: Transmitter;
  },
): Promise<{ readonly url: string; end(): void }> {
  const { context, url, databaseUrl } = options;
  const config = join(folder, 'tokenctl.yaml');
  writeFileSync(join(folder, 'database.url'), databaseUrl, { mode: 0o600 });
  writeFileSync(join(folder, 'admin.password'), 'bench', { mode: 0o600 });
  writeFileSync(
    config,
    `currentContext: ${context}
contexts:
  database: { database: { file: database.url } }
  rest: { url: "${url}", username: admin, password: { file: admin.password } }
signals:
  port: 0
  usersPerHour: 100000
  localUsers: act
  transmitters:
    bench:
      issuer: ${options.transmitter.issuer}
      jwks: ${options.transmitter.jwks}
      audience: ${AUDIENCE}
      push: {}
      accounts: { provider: bench, uid: "{sub}" }
`,
  );
  const child = spawn(process.execPath, [PROGRAM, 'signals', 'serve', '--config', config], {
    env: { PATH: process.env['PATH'], HOME: folder, XDG_STATE_HOME: join(folder, 'state') },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  const address = await new Promise<string>((resolve, reject) => {
    child.stderr.setEncoding('utf8').on('data', (data: string) => {
      if (said.length < 10_000) said += data;
      const [, found] = / at (http:\S+)\. Press/.exec(said) ?? [];
      if (found !== undefined) resolve(found);
    });
    child.once('exit', () => reject(new Error(`the receiver did not start: ${said}`)));
  });
  return { url: address, end: () => void child.kill('SIGKILL') };
}

/** Milliseconds from an event that is sent to the first refusal of the token. */
async function refusal(receiver: string, service: string, { name, token }: Member): Promise<number> {
  // By the account, which a database has an index for.
  const event = await transmitter.event(EVENTS.sessionRevoked, {
    format: 'iss_sub',
    iss: transmitter.issuer,
    sub: name,
  });
  const headers = { authorization: `Bearer ${token}` };
  const sent = performance.now();
  const { status } = await fetch(`${receiver}/signals/bench`, {
    method: 'POST',
    headers: { 'content-type': 'application/secevent+jwt' },
    body: event,
  });
  if (status !== 202) throw new Error(`the receiver answered ${status}`);
  while (performance.now() - sent < 60_000) {
    const response = await fetch(`${service}/api/v2/me/`, { headers });
    await response.body?.cancel();
    if (response.status === 401) return performance.now() - sent;
  }
  throw new Error(`the token of ${name} is accepted after a minute`);
}

function percentile(times: readonly number[]): number {
  const sorted = times.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * 0.99) - 1)] ?? Number.NaN;
}
