import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Secret } from '@tokenctl/common/secret.ts';
import type { RunningService } from '@tokenctl/service/server.ts';
import { ADMIN, basic, Client, startTestService } from '@tokenctl/service/testing/service.ts';
import { openOn } from '@tokenctl/testing/databases.ts';
import { createDatabase, type PostgresServer, startPostgres } from '@tokenctl/testing/embedded-postgres.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openPostgresLog } from '../../src/audit-log/postgres-log.ts';
import { openDatabaseTarget } from '../../src/targets/database/database-target.ts';
import { startTokenctl, temporaryFolder } from '../process/cli/program.ts';
import { draft, stillClock } from '../support/drafts.ts';

let server: PostgresServer;
let service: RunningService;
let url: string;
let auditUrl: string;
let processes: readonly number[] = [];

/** The processes of a server: its first one, and those that it started. */
async function processesOf(): Promise<number[]> {
  const [row] = await service.database.query<{ data_directory: string }>('SHOW data_directory');
  const pid = Number(readFileSync(join(row?.data_directory ?? '', 'postmaster.pid'), 'utf8').split('\n')[0]);
  const parentOf = (one: string) => {
    try {
      return Number(/^\d+ \(.*\) \S (\d+)/.exec(readFileSync(`/proc/${one}/stat`, 'utf8'))?.[1]);
    } catch {
      return 0; // it has ended
    }
  };
  const children = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && parentOf(name) === pid);
  return [pid, ...children.map(Number)];
}

/** Sends a signal to all of them. Those of closed connections may have ended. */
function signal(name: NodeJS.Signals): void {
  for (const pid of processes) {
    try {
      process.kill(pid, name);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}

beforeAll(async () => {
  server = await startPostgres();
  [url, auditUrl] = await Promise.all([createDatabase(server.url), createDatabase(server.url)]);
  service = await startTestService({ database: { url: new Secret(url) } });
});
afterAll(async () => {
  signal('SIGCONT');
  await service.close();
  await server.stop();
});

/** The outcome of work and how many seconds it took; they are compared with a limit. */
async function timed<T>(limit: number, work: () => Promise<T>): Promise<T> {
  const begun = performance.now();
  const outcome = await work();
  expect((performance.now() - begun) / 1000).toBeLessThan(limit);
  return outcome;
}

const failure = (work: Promise<unknown>) => work.then(String, (error: unknown) => error);

test('a PostgreSQL server that was stopped holds nothing for longer than its limit', async () => {
  const folder = temporaryFolder();
  const target = await openDatabaseTarget({ context: 'test', connection: new Secret(url) });
  const interruption = new AbortController();
  const interrupted = await openDatabaseTarget({
    context: 'test',
    connection: new Secret(url),
    interruption: () => interruption.signal,
  });
  const log = openPostgresLog({ open: () => openOn(auditUrl), name: 'in PostgreSQL', clock: stillClock });
  await log.append(draft());
  const admin = new Client(service.url, basic(ADMIN.username, ADMIN.password));
  expect((await admin.get('/api/v2/me/')).status).toBe(200);
  const command = (env: Readonly<Record<string, string>>, ...args: readonly string[]) =>
    startTokenctl(args, { env: { HOME: folder, ...env } }).ended;
  processes = await processesOf();
  signal('SIGSTOP');
  setTimeout(() => interruption.abort(), 100);
  const on = { TOKENCTL_DATABASE: url };
  const runs = await Promise.all([
    timed(45, async () => (await admin.get('/api/v2/tokens/')).status),
    timed(75, () => failure(target.describe())),
    timed(5, () => failure(interrupted.describe())),
    timed(60, () => failure(log.append(draft()))),
    timed(40, async () => (await command(on, 'tokens', 'list')).code),
    timed(40, async () => (await command(on, 'tokens', 'revoke', '--all', '--yes')).code),
    timed(40, async () => (await command(on, 'incident', 'lockdown', '--all', '--yes')).code),
    timed(40, async () => (await command({ TOKENCTL_AUDIT_DATABASE: auditUrl }, 'log', 'list')).code),
  ]);
  signal('SIGCONT');
  expect(runs).toEqual([
    503,
    expect.objectContaining({ code: 'target_unreachable' }),
    expect.objectContaining({ message: 'Interrupted before the database answered' }),
    expect.objectContaining({ code: expect.stringMatching(/audit_unavailable|outcome_unrecorded/) }),
    ...[7, 7, 7, 6],
  ]);
  expect((await admin.get('/api/v2/tokens/')).status).toBe(200);
  await Promise.all([target.close(), interrupted.close(), log.close()]);
}, 200_000);
