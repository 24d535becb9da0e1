import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { withFields } from '../../../src/cli/output/json-fields.ts';
import type { Streamed } from '../../../src/reports/result.ts';
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

test('--json=FIELD,FIELD prints only these members, of each row or of the result', async () => {
  const { run } = home();
  const list = await run(['tokens', 'list', '--limit', '2', '--json=user,lease,id']);
  expect(JSON.parse(list.stdout).map(Object.keys)).toEqual([
    ['user', 'id'],
    ['user', 'id'],
  ]);
  expect(list.stderr).toMatch(/\nNo printed row has the field lease\.\n$/);
  const audit = await run(['tokens', 'audit', '--json=visibility,bySeverity']);
  expect(Object.keys(JSON.parse(audit.stdout))).toEqual(['bySeverity', 'visibility']);
  expect(JSON.parse((await run(['whoami', '--json=address'])).stdout)).toEqual({
    address: expect.any(String),
  });
});

test('an unknown field is refused before anything is done, and those that there are are listed', async () => {
  const { run } = home();
  const revoked = await run(['tokens', 'revoke', '--user', 'monitoring', '--yes', '--json=revokd']);
  expect(revoked.code).toBe(2);
  const { message, hint } = JSON.parse(revoked.stdout).error;
  expect(message).toBe('No field "revokd" in the JSON of tokens revoke.');
  expect(hint).toMatch(/^Did you mean revoked\? The fields are accessPaths, .*, revoked, run, /);
  expect((await run(['log', 'list', '--json'])).stdout).toBe('[]\n');
  expect((await run(['tokens', 'list', '--json', 'id'])).stdout).toContain('write --json=FIELD,FIELD');
});

test('the members of a document that is not held are those of the whole, however its pieces are cut', async () => {
  const names = fc.constantFrom<string>('a', 'b', 'a":', '\\', '{', 'findings');
  const documents = fc.dictionary(names, fc.jsonValue());
  await fc.assert(
    fc.asyncProperty(
      documents,
      fc.array(names),
      fc.nat(9),
      fc.nat(2),
      async (value, fields, size, indent) => {
        const text = JSON.stringify(value, null, indent);
        async function* chunks() {
          for (let at = 0; at < text.length; at += size + 1) yield text.slice(at, at + size + 1);
        }
        const whole: Streamed = { kind: 'streamed', makes: 'json', chunks };
        const { chunks: selected } = withFields(whole, fields) as Streamed;
        const printed = await Array.fromAsync(selected({ width: 80, paint: (_tone, each) => each }));
        const kept = Object.entries(JSON.parse(text)).filter(([name]) => fields.includes(name));
        expect(JSON.parse(printed.join(''))).toEqual(Object.fromEntries(kept));
      },
    ),
  );
});
