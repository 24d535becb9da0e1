import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder } from '@tokenctl/testing/temporary-folder.ts';
import { until } from '@tokenctl/testing/until.ts';
import { describe, expect, test } from 'vitest';
import { openFileLog } from '../../../src/audit-log/file-log.ts';
import { draft, stillClock } from '../../support/drafts.ts';

const PROGRAM = join(import.meta.dirname, 'append-process.ts');

/** Runs the appending program, in a shell that may limit it first. */
function appending(path: string, options: { count?: number; limit?: string } = {}) {
  const command = `${options.limit ?? ':'}; exec "$0" "$@"`;
  const args = ['-c', command, process.execPath, PROGRAM, path, String(options.count ?? 'Infinity')];
  const child = spawn('bash', args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const said = { out: '', err: '' };
  child.stdout.on('data', (chunk: Buffer) => {
    said.out += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    said.err += chunk.toString();
  });
  const ended = once(child, 'close').then(([code]) => code as number | null);
  return { child, ended, said, acknowledged: () => said.out.split('\n').slice(0, -1).map(Number) };
}

describe('several processes at once', () => {
  test('append to one chain, each entry acknowledged once', async () => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, 'audit.jsonl');
    const processes = Array.from({ length: 4 }, () => appending(path, { count: 40 }));
    expect(await Promise.all(processes.map(({ ended }) => ended))).toEqual([0, 0, 0, 0]);
    const numbers = processes.flatMap(({ acknowledged }) => acknowledged()).sort((a, b) => a - b);
    expect(numbers).toEqual(Array.from({ length: 160 }, (_, index) => index + 1));
    expect(await openFileLog({ path, clock: stillClock }).verify()).toMatchObject({
      entries: 160,
      break: null,
    });
  });
});

describe('a process killed while it appends', { tags: ['long'] }, () => {
  test('loses nothing that was acknowledged, and the next append goes on', async () => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, 'audit.jsonl');
    const log = openFileLog({ path, clock: stillClock });
    for (let round = 0; round < 5; round += 1) {
      const { child, ended, acknowledged } = appending(path);
      const enough = 5 + Math.random() * 20;
      await until(() => acknowledged().length >= enough);
      child.kill('SIGKILL');
      await ended;
      const last = acknowledged().at(-1) ?? 0;
      expect((await log.verify()).entries).toBeGreaterThanOrEqual(last);
      expect((await log.append(draft())).seq).toBeGreaterThan(last);
      expect(await log.verify()).toMatchObject({ break: null, tornBytes: 0 });
    }
  });
});

describe('a disk that is full', () => {
  test('refuses the append with the path, and leaves no half of it', async () => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, 'audit.jsonl');
    // A limit on file sizes (in KiB) fails a write half-way, as a full disk does.
    const { ended, said, acknowledged } = appending(path, { limit: "trap '' XFSZ; ulimit -f 16" });
    expect(await ended).toBe(6);
    expect(said.err).toContain(`Could not write the audit log ${path}`);
    const log = openFileLog({ path, clock: stillClock });
    const found = await log.verify();
    expect(found).toMatchObject({ entries: acknowledged().length, break: null, tornBytes: 0 });
    expect((await stat(path)).size).toBeLessThan(16 * 1024);
    expect((await log.append(draft())).seq).toBe(found.entries + 1);
  });
});
