import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { estate } from './estate.ts';

const { home } = estate({ users: 40, tokens: 2000 });
const bin = fileURLToPath(new URL('../../../bin/tokenctl.js', import.meta.url));

test.each([['--json'], ['--csv'], []])(
  'a reader that goes away ends it quietly: tokens list %s',
  { tags: ['long'] },
  async (...flags) => {
    const list = home().start(['tokens', 'list', ...flags]);
    list.stopReading();
    expect(await list.ended).toMatchObject({ code: 0, stderr: '' });
  },
);

test('a revocation whose output no one reads is carried out and recorded', { tags: ['long'] }, async () => {
  const { run, start } = home();
  const revocation = start(['tokens', 'revoke', '--user', 'backup', '--yes']);
  revocation.stopReading();
  expect((await revocation.ended).code).toBe(0);
  expect((await run(['tokens', 'list', '--user', 'backup', '--json'])).stdout).toBe('[]\n');
  expect((await run(['log', 'list', '--raw', '--json'])).stdout).toContain('"operation":"tokens.revoke"');
});

test.runIf(existsSync('/dev/full'))('a full disk is told, and is no success', async () => {
  const { folder } = home();
  const command = `"${process.execPath}" "${bin}" tokens list --json > /dev/full`;
  const failed = promisify(execFile)('sh', ['-c', command], {
    env: { PATH: process.env['PATH'], HOME: folder },
  });
  await expect(failed).rejects.toMatchObject({
    code: 5,
    stderr: expect.stringMatching(/"Cannot write the result \(ENOSPC\)\."\n {2}\}/),
  });
});
