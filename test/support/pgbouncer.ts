import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@tokenctl/testing/redis.ts';
import { until } from '@tokenctl/testing/until.ts';

const PROGRAM = ['pgbouncer', '/usr/sbin/pgbouncer'].find(
  (each) => spawnSync(each, ['--version']).status === 0,
);

/** Why there is no pooler to test with; null if there is one. */
export const NO_PGBOUNCER: string | null =
  PROGRAM === undefined ? 'pgbouncer is not installed (apt install pgbouncer)' : null;

if (NO_PGBOUNCER !== null) process.stderr.write(`Tests with a pooler are skipped: ${NO_PGBOUNCER}.\n`);

/**
 * Starts a PgBouncer before a database; it ignores the startup parameters that docs/database.md names.
 * @param mode `transaction` sends each transaction to the next of its connections to the server.
 */
export async function startPgbouncer(
  database: string,
  mode: 'session' | 'transaction' = 'session',
): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const to = new URL(database);
  const folder = mkdtempSync(join(tmpdir(), 'tokenctl-pooler-'));
  chmodSync(folder, 0o755);
  const [port, name] = [await freePort(), to.pathname.slice(1)];
  const file = join(folder, 'pgbouncer.ini');
  const server = `host=${to.hostname} port=${to.port} user=${to.username} password=${decodeURIComponent(to.password)}`;
  const ignored =
    'statement_timeout,lock_timeout,idle_in_transaction_session_timeout,options,extra_float_digits';
  const lines = [
    ...['[databases]', `${name} = ${server} dbname=${name}`, '[pgbouncer]', 'listen_addr = 127.0.0.1'],
    ...[`listen_port = ${port}`, 'auth_type = any', `pool_mode = ${mode}`, 'unix_socket_dir ='],
    'server_round_robin = 1',
    `ignore_startup_parameters = ${ignored}`,
  ];
  writeFileSync(file, `${lines.join('\n')}\n`);
  const asOther = process.getuid?.() === 0 ? ['-u', 'nobody'] : [];
  const child = spawn(PROGRAM ?? '', [...asOther, file], { stdio: ['ignore', 'ignore', 'pipe'] });
  let text = '';
  child.stderr.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  await until(() => child.exitCode !== null || text.includes('process up'));
  if (child.exitCode !== null) throw new Error(`pgbouncer ended: ${text}`);
  return {
    url: `postgresql://${to.username}@127.0.0.1:${port}/${name}`,
    async stop() {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGINT');
      child.kill('SIGTERM');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
