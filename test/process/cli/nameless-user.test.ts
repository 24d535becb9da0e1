import { execFile, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ADMIN } from '@tokenctl/service/testing/service.ts';
import { expect, test } from 'vitest';
import { estate } from './estate.ts';
import { type Run, temporaryFolder } from './program.ts';

const { url } = estate({ users: 20, tokens: 60 });
const PROGRAM = fileURLToPath(new URL('../../../bin/tokenctl.js', import.meta.url));

/** As OpenShift gives a container: a number without an entry in the password database, in the group 0. */
const NAMELESS = { uid: 1_000_650_000, gid: 0 };
const canSwitchUser =
  process.getuid?.() === 0 &&
  spawnSync(process.execPath, ['--check', PROGRAM], { ...NAMELESS, env: {} }).status === 0;

/** Without the right to switch the user, the system's answers to such a user are given instead. */
function preload(): readonly string[] {
  if (canSwitchUser) return [];
  const file = join(temporaryFolder(), 'nameless.mjs');
  writeFileSync(
    file,
    `import os from 'node:os';
     import { syncBuiltinESMExports } from 'node:module';
     const { homedir } = os;
     const fail = () => { throw new Error('ENOENT: no entry in the password database'); };
     os.userInfo = fail;
     os.homedir = () => process.env.HOME === undefined ? fail() : homedir();
     syncBuiltinESMExports();`,
  );
  return ['--import', file];
}

/** Runs the program with no variable but these, as a user without a name. */
function run(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Run> {
  return new Promise((resolve) => {
    const options = { cwd: '/', env: { ...env }, ...(canSwitchUser && NAMELESS) };
    const child = execFile(
      process.execPath,
      [...preload(), PROGRAM, ...args],
      options,
      (_, stdout, stderr) => {
        resolve({ stdout, stderr, code: child.exitCode });
      },
    );
  });
}

const controller = () => ({
  CONTROLLER_HOST: url(),
  CONTROLLER_USERNAME: ADMIN.username,
  CONTROLLER_PASSWORD: ADMIN.password,
});

test('a user without a name and without HOME can do whatever needs no folder', {
  tags: ['long'],
}, async () => {
  const listed = await run(['tokens', 'list', '--json'], controller());
  expect(listed).toMatchObject({ code: 0, stderr: '' });
  expect(JSON.parse(listed.stdout)).toHaveLength(60);
});

test('a change without a folder for its audit log is refused, with the variables', async () => {
  const revoke = await run(['tokens', 'revoke', '--all', '--yes'], controller());
  expect(revoke).toMatchObject({ code: 2 });
  expect(revoke.stderr).toMatch(/No directory for the audit log: neither XDG_STATE_HOME nor HOME is set/);
});

test('a state folder is all that a revocation needs', { tags: ['long'] }, async () => {
  const state = temporaryFolder();
  if (canSwitchUser) chownSync(state, NAMELESS.uid, NAMELESS.gid);
  chmodSync(state, 0o700);
  const environment = { ...controller(), XDG_STATE_HOME: state };
  const revoked = await run(['tokens', 'revoke', '--all', '--yes'], environment);
  expect(revoked.stderr + revoked.stdout).toMatch(/Revoked 60 of 60 tokens/);
  const log = await run(['log', 'list', '--raw', '--json'], environment);
  const actor = canSwitchUser ? /"user":"uid 1000650000"/ : /"user":"uid \d+"/;
  expect(log.stdout).toMatch(actor);
});

test('compiled code, which Node.js runs, is kept only where no one else can write', async () => {
  const home = temporaryFolder();
  const [temporary, cache] = [join(home, 'tmp'), join(home, '.cache')];
  mkdirSync(temporary);
  if (canSwitchUser) for (const folder of [home, temporary]) chownSync(folder, NAMELESS.uid, NAMELESS.gid);
  const environment = { HOME: home, TMPDIR: temporary };
  expect(await run(['docs', 'glossary'], environment)).toMatchObject({ code: 0, stderr: '' });
  expect([readdirSync(temporary), readdirSync(join(cache, 'tokenctl'))]).toEqual([[], ['compiled']]);
  rmSync(cache, { recursive: true });
  chmodSync(home, 0o777);
  expect(await run(['docs', 'glossary'], environment)).toMatchObject({ code: 0, stderr: '' });
  expect([readdirSync(temporary), existsSync(cache)]).toEqual([[], false]);
});
