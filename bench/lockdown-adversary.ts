// From Enter on `incident lockdown` over REST to the last request that a service on PostgreSQL accepts of a user who
// mints tokens without pause: by password, refresh token, client secret and access token at the same time. In turn with the
// same lockdown of the same user at rest. Afterwards every credential that the adversary got is tried.
// Run: npm run build && node bench/lockdown-adversary.ts
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { openPostgres } from '@tokenctl/common/db/postgres.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import { createDatabase, startPostgres } from '@tokenctl/testing/embedded-postgres.ts';
import { Adversary, fillForAdversary, MINTS } from './support/adversary.ts';
import { judge, sized } from './support/ratio.ts';
import { api, start } from './support/requests.ts';

const PROGRAM = join(import.meta.dirname, '../bin/tokenctl.js');
/** Tokens of the user before the lockdown. */
const TOKENS = sized(200, 50);
const TURNS = sized(2, 1);
/** So long it is tried afterwards, in milliseconds. */
const AFTERWARDS = 2000;

/** The lockdowns: what a controller can do over REST, and what only this service can do. */
const LOCKDOWNS = {
  'password reset': ['--user', 'eve', '--basic-auth-off', '--reset-password'],
  'user deactivated': ['--user', 'eve', '--basic-auth-off', '--deactivate'],
} as const;

interface Measured {
  /** From Enter to the last acceptance, in seconds; to the end of the command without an adversary. */
  readonly seconds: number;
  readonly commandSeconds: number;
  readonly passes: number;
  /** How many tokens it revoked. */
  readonly revoked: number;
  readonly accepted: readonly string[];
}

const server = await startPostgres();
try {
  for (const [name, flags] of Object.entries(LOCKDOWNS)) {
    const [attacked, atRest]: [Measured[], Measured[]] = [[], []];
    for (let turn = 0; turn < TURNS; turn += 1) {
      atRest.push(await measure(`${name}, at rest`, flags, false));
      attacked.push(await measure(`${name}, adversary`, flags, true));
    }
    judge(
      `${name}: time of the command under the adversary / at rest`,
      attacked.map(
        ({ commandSeconds }, turn) => commandSeconds / (atRest[turn]?.commandSeconds ?? Number.NaN),
      ),
      { atMost: 5 },
    );
    judge(
      `${name}: until the adversary was last accepted, seconds`,
      attacked.map(({ seconds }) => seconds),
      { atMost: 30 },
    );
    judge(
      `${name}: passes`,
      attacked.map(({ passes }) => passes),
      { atMost: 3 },
    );
    judge(
      `${name}: credentials accepted afterwards`,
      attacked.map(({ accepted }) => accepted.length),
      { atMost: 0 },
    );
  }
} finally {
  await server.stop();
}

async function measure(name: string, flags: readonly string[], isAttacked: boolean): Promise<Measured> {
  const DATABASE_URL = await createDatabase(server.url);
  const { url, child } = await start('service-process.ts', { DATABASE_URL });
  const folder = mkdtempSync(join(tmpdir(), 'tokenctl-bench-'));
  const database = await openPostgres({ url: new Secret(DATABASE_URL), applicationName: 'bench' });
  const adversary = new Adversary(url);
  try {
    const { token } = await api<{ token: string }>(url, '/api/v2/tokens/', { scope: 'write' });
    await fillForAdversary(database);
    await database.execute(
      `INSERT INTO main_oauth2accesstoken (token, expires, scope, user_id)
       SELECT encode(sha256(('token-' || n)::bytea), 'hex'), now() + interval '1 day', 'write', u.id
       FROM generate_series(1, $1::int) n JOIN auth_user u ON u.username = 'eve'`,
      [TOKENS],
    );
    if (isAttacked) await adversary.begin();
    const enter = performance.now();
    const command = spawn(process.execPath, [PROGRAM, 'incident', 'lockdown', ...flags, '--yes', '--json'], {
      env: { PATH: process.env['PATH'], HOME: folder, CONTROLLER_HOST: url, CONTROLLER_OAUTH_TOKEN: token },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const [printed, errors, [code]] = await Promise.all([
      text(command.stdout),
      text(command.stderr),
      once(command, 'close'),
    ]);
    const commandSeconds = (performance.now() - enter) / 1000;
    if (isAttacked) await pause(AFTERWARDS);
    await adversary.stop();
    // Over REST some ways in are never checked, which is code 5.
    if (code !== 0 && code !== 5) throw new Error(`the lockdown ended with ${code}: ${errors}${printed}`);
    const { steps, result } = JSON.parse(printed) as {
      readonly result: string;
      readonly steps: readonly { readonly step: string; readonly message: string }[];
    };
    for (const { message } of steps) console.log(`${name}: ${message}`);
    const measured = {
      seconds: (isAttacked ? adversary.last - enter : 0) / 1000,
      commandSeconds,
      passes: steps.filter(({ message }) => message.startsWith('Pass ')).length,
      revoked: revokedIn(folder),
      accepted: isAttacked ? await adversary.accepted() : [],
    };
    console.log(
      `${name}: ${result} after ${commandSeconds.toFixed(2)} s, ${measured.passes} passes, ${measured.revoked} tokens revoked by the log`,
    );
    if (isAttacked) {
      const counts = MINTS.map((mint) => `${mint} ${adversary.minted.get(mint) ?? 0}`).join(', ');
      console.log(
        `${name}: minted ${adversary.held} (${counts}); last accepted after ${measured.seconds.toFixed(2)} s`,
      );
      console.log(`${name}: accepted afterwards: ${[...new Set(measured.accepted)].join(', ') || 'nothing'}`);
    }
    return measured;
  } finally {
    await adversary.stop();
    await database.close();
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true });
  }
}

/** How many access tokens the audit log names as revoked. */
function revokedIn(home: string): number {
  const logs = readdirSync(home, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('audit.jsonl'),
  );
  let count = 0;
  for (const file of logs)
    for (const line of readFileSync(join(home, file), 'utf8').trimEnd().split('\n')) {
      const { kind, data } = JSON.parse(line) as { kind: string; data: Record<string, unknown> };
      const { step, revoked } = data;
      if (kind === 'outcome' && step === 'batch' && Array.isArray(revoked)) count += revoked.length;
    }
  return count;
}
