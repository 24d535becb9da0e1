import { randomUUID } from 'node:crypto';
import { chmodSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openFileLog } from '../../../src/audit-log/file-log.ts';
import { temporaryFolder, tokenctl } from './program.ts';

const VERIFY = ['log', 'verify'];

async function writeOneEntry(path: string): Promise<void> {
  const log = openFileLog({ path, clock: { now: () => new Date() } as never });
  await log.append({
    ...{ kind: 'note', operation: 'test', run: randomUUID(), actor: { user: 'a' }, target: {}, data: {} },
  });
  await log.close();
}

test('log verify names what others may write, and refuses what everyone may', async () => {
  const folder = temporaryFolder();
  const log = join(folder, 'audit.jsonl');
  await writeOneEntry(log);
  chmodSync(log, 0o660);
  const grouped = await tokenctl([...VERIFY, '--log-file', log]);
  expect([grouped.code, grouped.stdout]).toEqual([
    0,
    expect.stringContaining(`Members of its group can rewrite the log. Run chmod g-w ${log}, or`),
  ]);
  chmodSync(log, 0o600);
  chmodSync(folder, 0o777);
  const open = await tokenctl([...VERIFY, '--log-file', log]);
  expect([open.code, open.stderr]).toEqual([
    6,
    expect.stringContaining(`${folder} is writable by all users`),
  ]);
});

describe('log verify, where there is no log', () => {
  test('by default says so: nothing was changed yet', async () => {
    const home = temporaryFolder();
    const { code, stdout } = await tokenctl(VERIFY, { env: { HOME: home } });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^No audit log yet\. The first change creates .*audit\.jsonl\.\n$/);
  });

  test('refuses a named log that does not exist', async () => {
    const home = temporaryFolder();
    const config = join(home, 'tokenctl.yaml');
    writeFileSync(config, 'auditLog: { file: typo.jsonl }\n');
    const runs = await Promise.all([
      tokenctl([...VERIFY, '--log-file', '/typo.jsonl']),
      tokenctl([...VERIFY, '--log-file', '/typo.jsonl', '--json']),
      tokenctl(VERIFY, { env: { TOKENCTL_AUDIT_LOG: '/typo.jsonl' } }),
      tokenctl([...VERIFY, '--config', config]),
    ]);
    expect(runs.map(({ code }) => code)).toEqual([6, 6, 6, 6]);
    for (const { stdout, stderr } of runs) {
      expect(stdout + stderr).toMatch(/No audit log at \S*\/typo\.jsonl/);
    }
  });

  test('an empty file is a log without entries', async () => {
    const log = join(temporaryFolder(), 'audit.jsonl');
    writeFileSync(log, '', { mode: 0o600 });
    const { code, stdout } = await tokenctl([...VERIFY, '--log-file', log]);
    expect([code, stdout]).toEqual([0, `No entries in ${log}.\n`]);
  });

  test.each([
    ['emptied', (log: string) => truncateSync(log)],
    ['removed', (log: string) => rmSync(log)],
  ])('says that a log was %s', async (_, act) => {
    const home = temporaryFolder();
    const env = { HOME: home };
    const log = join(home, '.local/state/tokenctl/audit.jsonl');
    await writeOneEntry(log);
    expect((await tokenctl(VERIFY, { env })).code).toBe(0);
    act(log);
    for (const command of [VERIFY, ['log', 'list'], ['log', 'list', '--raw', '--json']]) {
      const { code, stdout, stderr } = await tokenctl(command, { env });
      expect([command, code]).toEqual([command, 6]);
      expect(stdout + stderr).toContain('it has no entries, but its lock file shows');
    }
  });
});
