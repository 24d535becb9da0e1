import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { startTokenctl } from './program.ts';

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
