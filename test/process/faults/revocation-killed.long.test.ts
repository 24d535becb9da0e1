import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { temporaryFolder } from '@tokenctl/testing/temporary-folder.ts';
import { until } from '@tokenctl/testing/until.ts';
import { describe, expect, test } from 'vitest';
import { openFileLog } from '../../../src/audit-log/file-log.ts';
import { bundledProgram } from '../../support/bundled-program.ts';
import { stillClock } from '../../support/drafts.ts';
import { FakeController } from '../../support/fake-controller.ts';
import { entriesOf } from '../../support/fixture.ts';

const program = bundledProgram(join(import.meta.dirname, 'revocation-process.ts'));

function revoking(address: string, path: string) {
  const child = spawn(process.execPath, [program.path(), address, path, '100'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  return { child, ended: once(child, 'close').then(() => said) };
}

/** Ids that the log says were revoked, or found gone by a later run. */
function accountedFor(entries: Awaited<ReturnType<typeof entriesOf>>): Set<number> {
  return new Set(
    entries
      .filter(({ kind, data }) => kind === 'outcome' && data['step'] === 'batch')
      .flatMap(({ data }) => [data['revoked'], data['unchanged'], data['gone']] as (number[] | undefined)[])
      .flatMap((ids) => ids ?? []),
  );
}

describe('a revocation killed half-way', () => {
  test.each([1, 250, 1900])(
    'after %d deletions is finished by the next run, and every token stands in the log',
    async (after) => {
      await using fake = await FakeController.start(2000);
      await using folder = await temporaryFolder();
      const path = join(folder.path, 'audit.jsonl');
      const first = revoking(fake.address, path);
      let deletions = 0;
      fake.fault = (request) => {
        if (request.method === 'DELETE' && ++deletions === after) first.child.kill('SIGKILL');
        return false;
      };
      expect(await first.ended).toBe('');
      await until(
        () => fake.connections(),
        (count) => count === 0,
      );
      const left = fake.tokens.size;
      expect(left).toBeGreaterThan(0);
      const log = openFileLog({ path, clock: stillClock });
      expect(await log.abandonedIntents()).not.toEqual([]);
      const report = JSON.parse(await revoking(fake.address, path).ended);
      expect(report).toMatchObject({ revoked: left, failed: [], stillAlive: [], verified: true });
      expect(fake.tokens.size).toBe(0);
      const entries = await entriesOf(log);
      expect(entries.at(-1)?.open).toEqual([]);
      expect(accountedFor(entries).size).toBe(2000);
      expect(await log.verify()).toMatchObject({ break: null, tornBytes: 0 });
    },
  );

  test('is not meddled with by another run while it lives', async () => {
    await using fake = await FakeController.start(2000);
    await using folder = await temporaryFolder();
    const path = join(folder.path, 'audit.jsonl');
    const runs = [revoking(fake.address, path), revoking(fake.address, path)];
    const reports = (await Promise.all(runs.map(({ ended }) => ended))).map((text) => JSON.parse(text));
    expect(reports.map(({ stillAlive }) => stillAlive)).toEqual([[], []]);
    expect(reports.reduce((sum, { revoked }) => sum + revoked, 0)).toBe(2000);
    const log = openFileLog({ path, clock: stillClock });
    const entries = await entriesOf(log);
    expect(entries.filter(({ data }) => data['reconciled'] === true)).toEqual([]);
    expect(entries.at(-1)?.open).toEqual([]);
    expect(await log.verify()).toMatchObject({ break: null });
  });
});
