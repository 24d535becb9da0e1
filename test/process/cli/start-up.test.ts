import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, globSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { serviceDatabase } from '@tokenctl/service/testing/service.ts';
import { freePort } from '@tokenctl/testing/embedded-postgres.ts';
import { until } from '@tokenctl/testing/until.ts';
import { expect, test } from 'vitest';
import { startTokenctl, temporaryFolder, tokenctl } from './program.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** Prints the URL of every module that is loaded, to file descriptor 3. */
const LOADED_MODULES = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module';
  import { writeSync } from 'node:fs';
  registerHooks({ load(url, context, next) { writeSync(3, url + '\\n'); return next(url, context); } });
`)}`;

/** The files that a run of the built program loads. */
function loadedFiles(...args: readonly string[]): readonly string[] {
  const program = join(root, 'bin/tokenctl.js');
  const run = spawnSync(process.execPath, ['--import', LOADED_MODULES, program, ...args], {
    env: { PATH: process.env['PATH'], HOME: '/nonexistent' },
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
    encoding: 'utf8',
  });
  expect(run.status).toBe(0);
  return (run.output[3] ?? '').split('\n').filter((url) => url.startsWith('file:'));
}

test('help loads a few files, none of them of a command or in node_modules', () => {
  const files = loadedFiles('tokens', 'list', '--help');
  expect(files.length).toBeLessThanOrEqual(10);
  expect(files.filter((file) => /node_modules|dist\/commands/.test(file))).toEqual([]);
});

test('a command loads itself and no other, and nothing in node_modules', () => {
  const files = loadedFiles('context', 'list');
  expect(files.length).toBeLessThanOrEqual(20);
  expect(files.filter((file) => /node_modules|dist\/commands/.test(file))).toEqual([
    expect.stringContaining('/dist/commands/context/list.js'),
  ]);
});

test('the stack of a bug names lines of the sources', { tags: ['long'] }, async () => {
  const env = { TOKENCTL_DEBUG: '1', CONTROLLER_HOST: 'http://127.0.0.1:1', CONTROLLER_OAUTH_TOKEN: 'none' };
  const { stderr } = await startTokenctl(['tokens', 'list'], { env }).ended;
  expect(stderr).toMatch(/at .*\/src\/targets\/controller-api\/[\w-]+\.ts:\d+:\d+/);
  expect(stderr).not.toContain('/dist/');
});

test('the bundles have no syntax that is newer than the oldest supported Node.js', () => {
  const newer = globSync('dist/**/*.js', { cwd: root }).filter((file) =>
    /^\s*(await )?using \w+ =/m.test(readFileSync(join(root, file), 'utf8')),
  );
  expect(newer).toEqual([]);
});

/** The built program in a folder of its own, whose files can be removed under it as an upgrade does. */
function installed(): { readonly program: string; readonly remove: () => void } {
  const folder = temporaryFolder();
  for (const name of ['bin', 'dist', 'package.json', 'oclif.manifest.json'])
    cpSync(join(root, name), join(folder, name), {
      recursive: true,
      filter: (file) => !/\.(map|br|gz)$/.test(file),
    });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const remove = () => {
    for (const name of ['dist', 'node_modules']) rmSync(join(folder, name), { recursive: true });
  };
  return { program: join(folder, 'bin/tokenctl.js'), remove };
}

test('the service serves its web interface while its files are gone, and its SAML thread needs no other file', async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'database.url'), await serviceDatabase(), { mode: 0o600 });
  const { program, remove } = installed();
  const env = { HOME: folder, TOKENCTL_ADMIN_PASSWORD: 'correct-horse-battery' };
  const [port, database] = [String(await freePort()), join(folder, 'database.url')];
  const args = ['service', 'start', '--port', port, '--database-file', database];
  const service = startTokenctl(args, { env, program });
  const [, url = ''] = (await service.says(/listens on \S+(?=\. )/)).split('on ');
  remove();
  const files = globSync('**/*.{js,css,svg}', { cwd: join(root, 'dist/web') });
  const answers = await Promise.all(files.map(async (file) => (await fetch(`${url}/${file}`)).status));
  expect(answers).toEqual(files.map(() => 200));
  expect((await fetch(`${url}/api/login/`)).status).toBe(200);
  service.kill('SIGTERM');
  expect((await service.ended).code).toBe(0);
  // The service reads this text at its start.
  const text = readFileSync(join(root, 'dist/chunks/saml-worker.cjs'), 'utf8');
  const imported = [...text.matchAll(/\b(?:require|import)\("([^"]+)"\)/g)].map(([, name = '']) => name);
  expect(imported.filter((name) => !isBuiltin(name))).toEqual([]);
  const worker = new Worker(text, { eval: true });
  expect(await once(worker, 'message')).toEqual(['ready']);
  await worker.terminate();
});

test('a scheduler and a console work on while their files are gone, and the ledger knows whether it runs', async () => {
  const folder = temporaryFolder();
  const [config, kept] = ['tokenctl.yaml', 'checkpoint'].map((name) => join(folder, name));
  writeFileSync(
    config ?? '',
    `auditLog: { file: audit.jsonl }
contexts: { none: { url: "http://127.0.0.1:1", token: { env: NONE } } }
currentContext: none
scheduler: { healthPort: 0 }
jobs:
  checkpoints: { job: log-checkpoint, schedule: "* * * * * *", parameters: { keepIn: { file: ${kept} } } }
`,
  );
  const env = { HOME: folder, NONE: 'none' };
  expect(
    (await tokenctl(['log', 'init', '--name', 'test/log', '--config', config ?? ''], { env })).stderr,
  ).toBe('');
  const { program, remove } = installed();
  const scheduler = startTokenctl(['jobs', 'start', '--config', config ?? ''], { env, program });
  const page = startTokenctl(['console', '--no-open', '--config', config ?? ''], { env, program });
  const [, address = ''] = (await page.says(/listens on (\S+)/)).split('on ');
  await scheduler.says(/Running on schedule/);
  remove();
  rmSync(kept ?? '', { force: true });
  await until(() => existsSync(kept ?? ''));
  const answer = await fetch(address);
  expect([answer.status, await answer.text()]).toEqual([
    200,
    expect.stringContaining('<script type="module"'),
  ]);
  const listed = async () => {
    const { stdout, stderr } = await tokenctl(['jobs', 'list', '--json', '--config', config ?? ''], { env });
    const [{ scheduler: seen }] = JSON.parse(stdout) as [
      { scheduler: { running: boolean; lastSeen: string } },
    ];
    return { ...seen, stderr };
  };
  expect(await listed()).toMatchObject({ running: true, stderr: '' });
  for (const each of [scheduler, page]) each.kill('SIGTERM');
  expect((await scheduler.ended).stderr).not.toMatch(/"state":"failed"/);
  expect((await page.ended).code).toBe(0);
  const { running, lastSeen, stderr } = await listed();
  expect(running).toBe(false);
  const since = lastSeen.replace(/\.\d+/, '');
  expect(stderr).toContain(`The scheduler has not been running since ${since}`);
});

test('what keeps running refuses a port that is taken before it opens anything', async () => {
  const folder = temporaryFolder();
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const port = String((taken.address() as AddressInfo).port);
  const config = join(folder, 'tokenctl.yaml');
  // No one listens there: what asks for the database first would say so.
  const nowhere = `postgres://127.0.0.1:1/none`;
  writeFileSync(
    config,
    `scheduler: { healthPort: ${port}, ledger: { database: "${nowhere}" } }
signals:
  port: ${port}
  queue: { database: "${nowhere}" }
  transmitters: { idp: { issuer: https://idp.example.com, jwks: https://idp.example.com/keys } }
contexts: { lab: { database: "${nowhere}" } }
`,
  );
  const env = { HOME: folder, XDG_STATE_HOME: join(folder, 'state') };
  for (const args of [
    ['jobs', 'start', '--config', config],
    ['signals', 'serve', '--config', config],
    ['console', '--port', port, '--context', 'none', '--config', config],
    ['service', 'start', '--port', port, '--data', join(folder, 'data')],
  ]) {
    const { code, stderr } = await tokenctl(args, { env });
    expect([args, code, stderr]).toEqual([args, 2, expect.stringMatching(new RegExp(`listen.*${port}`))]);
  }
  taken.close();
  expect([existsSync(join(folder, 'state')), existsSync(join(folder, 'data'))]).toEqual([false, false]);
});
