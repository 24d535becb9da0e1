// From Enter on `incident lockdown --all --yes` to the last request that a service accepts of anyone: 20,000
// tokens, 50 users at work with tokens, refresh grants, sessions and basic authentication, on PostgreSQL, once in
// the database and once over REST with the users deactivated; and that nothing is accepted afterwards.
// Run: npm run build && node bench/incident-lockdown.ts
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { openPostgres } from '@tokenctl/common/db/postgres.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import { createDatabase, startPostgres } from '@tokenctl/testing/embedded-postgres.ts';
import { fillForLoad, IncidentLoad, WAYS } from '../test/support/incident-load.ts';
import { judge, sized } from './support/ratio.ts';
import { api, start } from './support/requests.ts';

const PROGRAM = join(import.meta.dirname, '../bin/tokenctl.js');
const SIZE = { users: sized(50, 10), tokens: sized(20_000, 500) };
/** So long it is tried afterwards, in milliseconds. */
const AFTERWARDS = 5000;

interface Lockdown {
  readonly incident: string;
  readonly result: string;
  readonly steps: readonly { readonly message: string }[];
}

const server = await startPostgres();
try {
  await measure('in the database', (database) => ({ TOKENCTL_DATABASE: database }), []);
  await measure('over REST', (_, url, token) => ({ CONTROLLER_HOST: url, CONTROLLER_OAUTH_TOKEN: token }), [
    '--deactivate',
  ]);
} finally {
  await server.stop();
}

async function measure(
  name: string,
  environment: (database: string, url: string, token: string) => Record<string, string>,
  flags: readonly string[],
): Promise<void> {
  const DATABASE_URL = await createDatabase(server.url);
  const { url, child } = await start('service-process.ts', { DATABASE_URL });
  const folder = mkdtempSync(join(tmpdir(), 'tokenctl-bench-'));
  const database = await openPostgres({ url: new Secret(DATABASE_URL), applicationName: 'bench' });
  try {
    const { token } = await api<{ token: string }>(url, '/api/v2/tokens/', { scope: 'write' });
    await fillForLoad(database, SIZE);
    const load = await IncidentLoad.start(url, SIZE);
    await pause(2000);
    for (const way of WAYS) console.log(`${name}: accepted by ${way} before: ${load.accepted.get(way) ?? 0}`);
    const enter = performance.now();
    const command = spawn(
      process.execPath,
      [PROGRAM, 'incident', 'lockdown', '--all', ...flags, '--yes', '--json'],
      {
        env: { PATH: process.env['PATH'], HOME: folder, ...environment(DATABASE_URL, url, token) },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    const [printed, told, [code]] = await Promise.all([
      text(command.stdout),
      text(command.stderr),
      once(command, 'close'),
    ]);
    const [ended, sent] = [performance.now(), load.sent];
    await pause(AFTERWARDS);
    const accepted = await load.acceptedAfter(sent);
    // Over REST some ways in are never checked, which is code 5.
    if (code !== 0 && code !== 5) throw new Error(`the lockdown ended with ${code}: ${told}${printed}`);
    const report = JSON.parse(printed) as Lockdown;
    if (report.result !== 'locked') throw new Error(`the result is ${report.result}: ${told}${printed}`);
    const seconds = (at: number) => ((at - enter) / 1000).toFixed(2);
    for (const { message } of report.steps) console.log(`${name}: ${message}`);
    for (const { way, at } of load.last.values()) {
      console.log(`${name}: last accepted by ${way}: ${seconds(at)} s after Enter`);
    }
    const last = Math.max(...Array.from(load.last.values(), ({ at }) => at));
    console.log(
      `${name}: last accepted at all: ${seconds(last)} s after Enter; the command ended at ${seconds(ended)} s`,
    );
    judge(`${name}: accepted after the lockdown, by any way`, accepted.length, { atMost: 0 });
  } finally {
    await database.close();
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true });
  }
}
