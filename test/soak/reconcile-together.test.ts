import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { createDatabase } from '@tokenctl/testing/embedded-postgres.ts';
import { temporaryFolder } from '@tokenctl/testing/temporary-folder.ts';
import { describe, expect, inject, test } from 'vitest';
import { reportLog } from '../../src/operations/audit-log/report-log.ts';
import { openLogAt } from '../process/faults/log-at.ts';
import { bundledProgram } from '../support/bundled-program.ts';
import { entriesOf } from '../support/fixture.ts';

const program = bundledProgram(join(import.meta.dirname, 'reconciling-process.ts'));
const TOKENS_PER_RUN = 3;

function start(args: readonly string[]): ChildProcess & AsyncDisposable {
  const child = spawn(process.execPath, [program.path(), ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
  return Object.assign(child, {
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  });
}

/** The lines that a process prints, one at a time. */
function linesOf(child: ChildProcess): () => Promise<string> {
  if (child.stdout === null) throw new Error('The process has no output');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return async () => String((await lines.next()).value);
}

describe.each([
  ['a file', 200, async (folder: string) => join(folder, 'audit.jsonl')],
  ['PostgreSQL', 48, () => createDatabase(inject('postgresUrl'))],
] as const)('two processes that reconcile a log in %s after kills', (_kind, runs, placeIn) => {
  test(`close each intent once in ${runs} runs`, async () => {
    await using folder = await temporaryFolder();
    const place = await placeIn(folder.path);
    await using one = start(['reconcile', place]);
    await using other = start(['reconcile', place]);
    const answers = [linesOf(one), linesOf(other)];
    await Promise.all(answers.map((next) => next()));
    const reconcileTogether = async () => {
      for (const child of [one, other]) child.stdin?.write('\n');
      const counts = await Promise.all(answers.map((next) => next()));
      return counts.reduce((total, count) => total + Number(count), 0);
    };
    let expected = 0;
    let closed = 0;
    for (let index = 0; index < runs; index += 1) {
      // Killed after one to three entries; four is a run that finishes.
      const entries = 1 + (index % 4);
      const ids = Array.from({ length: TOKENS_PER_RUN }, (_, each) =>
        String(index * TOKENS_PER_RUN + each + 1),
      );
      if (entries >= 2) expected += TOKENS_PER_RUN;
      await using child = start(['revoke', place, randomUUID(), String(entries), ...ids]);
      const exit = once(child, 'exit');
      await linesOf(child)();
      // Half of the runs still live when the others begin to reconcile.
      if (index % 8 < 4) await exit;
      closed += await reconcileTogether();
      await exit;
    }
    closed += await reconcileTogether();

    const log = openLogAt(place);
    const all = await entriesOf(log);
    const report = await reportLog({ log });
    await log.close();
    const closings = all.flatMap(({ closes }) => closes ?? []);
    const intents = all.filter(({ kind }) => kind === 'intent').map(({ seq }) => seq);
    expect(closings.length).toBe(new Set(closings).size);
    expect(new Set(closings)).toEqual(new Set(intents));
    expect(all.filter(({ data }) => data['reconciled'] === true)).toHaveLength(closed);
    expect(report.verification.break).toBeNull();
    expect(report.totals).toMatchObject({
      runs,
      counts: { revoked: expected },
      interrupted: (runs / 4) * 3,
      unfinished: 0,
    });
  });
});
