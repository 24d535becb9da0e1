import { appendFile, open, readFile, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { verifyParallel } from '../../src/audit-log/verify-parallel.ts';
import { verifyRange } from '../../src/audit-log/verify-range.ts';
import type { EntryDraft } from '../../src/operations/ports/audit-log.ts';
import { chainOf, logOfLines } from './chains.ts';
import { draft, temporaryFolder } from './drafts.ts';

const drafts = Array.from({ length: 60 }, (_, index): EntryDraft => {
  const kind = index % 3 === 0 ? 'intent' : 'outcome';
  // Among entries that are scanned some that only the parser reads.
  const data = { index, text: 'é'.repeat(index % 7), ...(index % 8 === 7 && { share: 0.5 }) };
  return draft({ kind, data, ...(index % 3 === 1 && { closes: index }) });
});

async function written() {
  const folder = await temporaryFolder();
  const path = join(folder.path, 'audit.jsonl');
  const lines = chainOf(drafts);
  const text = `${lines.join('\n')}\n`;
  await writeFile(path, text, { mode: 0o600 });
  const size = Buffer.byteLength(text);
  return { path, lines, size, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
}

test.runIf(availableParallelism() > 1)('says of a whole log what reading it in one go says', async () => {
  await using at = await written();
  const expected = await logOfLines(at.lines).verify();
  expect(await verifyParallel({ path: at.path, size: at.size, worthAThread: 5000 })).toEqual(expected);
  await appendFile(at.path, '{"half":');
  expect(await verifyParallel({ path: at.path, size: at.size + 8, worthAThread: 5000 })).toEqual({
    ...expected,
    tornBytes: 8,
  });
  expect(await verifyParallel({ path: at.path, size: at.size })).toBeNull();
});

test.runIf(availableParallelism() > 1)('leaves a log that does not hold to reading in one go', async () => {
  await using at = await written();
  for (const index of [0, 29, 30, 31, 58]) {
    const edited = at.lines.with(index, (at.lines[index] ?? '').replace('"index"', '"xedni"'));
    await writeFile(at.path, `${edited.join('\n')}\n`);
    expect(await verifyParallel({ path: at.path, size: at.size, worthAThread: 5000 })).toBeNull();
  }
});

test('a log is cut anywhere into stretches that join, each holding by itself', async () => {
  await using at = await written();
  const whole = await readFile(at.path);
  await using file = await open(at.path);
  for (let cut = 1; cut < whole.length; cut += 97) {
    const [left, right] = await Promise.all([
      verifyRange(file, { from: 0, to: cut }),
      verifyRange(file, { from: cut, to: at.size }),
    ]);
    expect(left?.first).toBeNull();
    if (cut > at.size - Buffer.byteLength(at.lines.at(-1) ?? '')) continue;
    expect(right?.first).toEqual(left?.last);
    expect(right?.last.size).toBe(60);
  }
});
