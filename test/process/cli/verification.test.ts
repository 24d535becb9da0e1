import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporaryFolder, tokenctl } from './program.ts';

const VERIFY = ['log', 'verify'];

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
});
