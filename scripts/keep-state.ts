// Keeps the state that a released version writes, for the test that later versions read it: test/fixtures/state/VERSION.
// The program plays a short history against its own service, on an empty PostgreSQL database, of which pg_dump writes the tables.
// Of tokens and passwords only hashes are kept, and nothing of the log's private key.
// Run, with the released program: node scripts/keep-state.ts bin/tokenctl.js VERSION postgres://…
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { ADMIN } from '@tokenctl/service/testing/service-template.ts';

const [program = '', version = '', database = ''] = process.argv.slice(2);
if (database === '') throw new Error('Give the program, its version and the URL of an empty database');
const kept = join(import.meta.dirname, '../test/fixtures/state', version);
// What is kept names no machine: the folder and the host are the same everywhere.
const home = '/var/tmp/tokenctl';
mkdirSync(home, { mode: 0o700 });
const host = `import os from 'node:os'; import { syncBuiltinESMExports } from 'node:module';
os.hostname = () => 'kept.example.org'; syncBuiltinESMExports();`;
const { password } = ADMIN;
const env = {
  PATH: process.env['PATH'],
  HOME: home,
  XDG_STATE_HOME: home,
  TOKENCTL_ADMIN_PASSWORD: password,
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(host)}`,
};

const probe = createServer().listen(0, '127.0.0.1');
await once(probe, 'listening');
const { port } = probe.address() as { port: number };
probe.close();
const url = `http://127.0.0.1:${port}`;

function write(name: string, text: string): void {
  writeFileSync(join(home, name), text, { mode: 0o600 });
}

/** Runs a command of the program; null for one, or a flag, that the version does not have. */
function run(...args: string[]): string | null {
  try {
    const stdio = ['ignore', 'pipe', 'pipe'] as const;
    return execFileSync(process.execPath, [resolve(program), ...args], {
      cwd: home,
      env,
      encoding: 'utf8',
      stdio: [...stdio],
    });
  } catch (error) {
    const { status, stdout, stderr } = error as { status: number; stdout: string; stderr: string };
    // 5: something is not closed, or not checked, over REST.
    if (status === 5) return stdout;
    if (status !== 2) throw error;
    console.log(`Not in ${version}: ${args.join(' ')}: ${stderr.split('\n')[0]}`);
    return null;
  }
}

async function send(user: string, path: string, body: object): Promise<{ id: number; token: string }> {
  const response = await fetch(`${url}/api/v2/${path}/`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${user}:${password}`)}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as { id: number; token: string };
}

write('database', database);
write('admin', password);
write(
  'tokenctl.yaml',
  `currentContext: kept
contexts:
  kept: { url: "${url}", username: admin, password: { file: "${join(home, 'admin')}" } }
jobs:
  audit: { job: token-audit }
scheduler:
  ledger: { file: "${join(home, 'ledger.sqlite')}" }
`,
);
Object.assign(env, { TOKENCTL_CONFIG: join(home, 'tokenctl.yaml') });

const args = ['service', 'start', '--port', String(port), '--database-file', join(home, 'database')];
const service = spawn(process.execPath, [resolve(program), ...args], { env, stdio: 'ignore' });
const ended = once(service, 'exit');
try {
  for (let tries = 0; !(await fetch(`${url}/api/v2/ping/`).catch(() => null))?.ok; tries += 1) {
    if (tries > 300) throw new Error('The service does not start');
    await setTimeout(100);
  }
  for (const username of ['alice', 'bob']) {
    await send('admin', 'users', { username, password });
    for (const scope of ['read', 'write']) await send(username, 'tokens', { scope, description: 'laptop' });
  }
  const { id } = await send('alice', 'tokens', { scope: 'write', description: 'lost' });
  run('log', 'init', '--name', 'kept.example.org/audit');
  run('tokens', 'audit', '--write-baseline', 'baseline');
  run('tokens', 'snapshot', 'snapshot.json');
  run('tokens', 'revoke', '--user', 'bob', '--plan-out', 'plan.json');
  run('tokens', 'revoke', '--id', String(id), '--yes', '--reason', 'laptop lost', '--ticket', 'SEC-1');
  run('jobs', 'run', 'audit');
  run('incident', 'lockdown', '--user', 'alice', '--yes', '--reason', 'token stolen');
  run('log', 'checkpoint', '--output', 'checkpoint');
} finally {
  service.kill('SIGTERM');
  await ended;
}
rmSync(kept, { recursive: true, force: true });
mkdirSync(kept, { recursive: true });
const log = existsSync(join(home, 'tokenctl/audit.jsonl')) ? 'tokenctl/audit.jsonl' : 'audit.jsonl';
for (const [from, to] of [
  [log, 'audit.jsonl'],
  [`${log}.key.pub`, 'audit.jsonl.key.pub'],
  ...['baseline', 'snapshot.json', 'plan.json', 'checkpoint'].map((name) => [name, name] as const),
] as const) {
  if (existsSync(join(home, from))) copyFileSync(join(home, from), join(kept, to));
}
const dump = execFileSync('pg_dump', ['--no-owner', '--no-privileges', '--inserts', database], {
  encoding: 'utf8',
});
const compressed = { 'service.sql.gz': dump, 'ledger.sqlite.gz': readFileSync(join(home, 'ledger.sqlite')) };
for (const [name, content] of Object.entries(compressed))
  writeFileSync(join(kept, name), gzipSync(content, { level: 9 }));
rmSync(home, { recursive: true });
