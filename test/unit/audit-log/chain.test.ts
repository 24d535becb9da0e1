import { Secret } from '@tokenctl/common/secret.ts';
import { runs } from '@tokenctl/testing/runs.ts';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { emptyHead, hashOf, linkEntry } from '../../../src/audit-log/chain.ts';
import { parseEntry } from '../../../src/audit-log/entry.ts';
import type { LogVerification } from '../../../src/operations/ports/audit-log.ts';
import { draft, stillClock } from '../../support/drafts.ts';
import { chainOf, logOfLines } from './chains.ts';

function verify(lines: readonly (string | Buffer)[]): Promise<LogVerification> {
  return logOfLines(lines).verify();
}

const notes = (count: number) => Array.from({ length: count }, (_, index) => draft({ data: { index } }));

describe('linkEntry', () => {
  test('numbers entries and carries the hash of the line before', () => {
    const [first = '', second = ''] = chainOf(notes(2));
    expect(JSON.parse(first)).toMatchObject({ v: 1, seq: 1, previous: '0'.repeat(64) });
    expect(JSON.parse(second)).toMatchObject({ seq: 2, previous: hashOf(first) });
  });

  test('writes canonical JSON: keys sorted, no spaces', () => {
    const [line = ''] = chainOf([draft({ data: { b: 1, a: [1.0, 'é'] } })]);
    expect(line).toContain('"data":{"a":[1,"é"],"b":1}');
    expect(line.startsWith('{"actor":')).toBe(true);
  });

  test('lists intents until their outcome', () => {
    const lines = chainOf([
      draft({ kind: 'intent' }),
      draft({ kind: 'intent' }),
      draft({ kind: 'outcome', closes: 1 }),
      draft(),
      draft({ kind: 'outcome', closes: 2 }),
    ]);
    expect(lines.map((line) => JSON.parse(line).open)).toEqual([[1], [1, 2], [2], [2], []]);
  });

  test('redacts secrets at any depth', () => {
    const data = { deep: [{ token: new Secret('hunter2') }] };
    const [line = ''] = chainOf([draft({ data })]);
    expect(line).not.toContain('hunter2');
    expect(line).toContain('[redacted]');
  });

  test.each([
    ['NaN', Number.NaN],
    ['a lone surrogate', '\ud800'],
    ['a big integer', 1n],
  ])('refuses %s, which JSON cannot hold', (_, value) => {
    expect(() => chainOf([draft({ data: { value } })])).toThrow();
  });
});

describe('verifyChain', () => {
  test('accepts what linkEntry writes, whatever it says', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.dictionary(fc.string(), fc.jsonValue()), { maxLength: 8 }),
        async (data) => {
          const lines = chainOf(data.map((each) => draft({ data: each })));
          const found = await verify(lines);
          expect(found).toMatchObject({ entries: lines.length, break: null, tornBytes: 0 });
          expect(found.head.hash).toBe(lines.length === 0 ? emptyHead.hash : hashOf(lines.at(-1) ?? ''));
        },
      ),
      { numRuns: runs(250) },
    );
  });

  const lines = chainOf(notes(6));
  test.each([
    [
      'an edited entry',
      (log: string[]) => log.with(2, (log[2] ?? '').replace('"index":2', '"index":9')),
      'edited',
      3,
    ],
    ['a reformatted entry', (log: string[]) => log.with(2, (log[2] ?? '').replace('{', '{ ')), 'edited', 3],
    [
      'a number too large',
      (log: string[]) => log.with(2, (log[2] ?? '').replace(':2}', ':2e999}')),
      'edited',
      3,
    ],
    [
      'half a character',
      (log: string[]) => log.with(2, (log[2] ?? '').replace(':2}', ':"\\ud800"}')),
      'edited',
      3,
    ],
    [
      'a reformatted last entry',
      (log: string[]) => log.with(5, (log[5] ?? '').replace('{', '{ ')),
      'edited',
      6,
    ],
    ['a removed entry', (log: string[]) => log.toSpliced(2, 1), 'removed', 3],
    ['a removed beginning', (log: string[]) => log.slice(2), 'removed', 1],
    ['a repeated entry', (log: string[]) => log.toSpliced(3, 0, log[2] ?? ''), 'inserted', 4],
    [
      'two entries in each other’s place',
      (log: string[]) => [0, 1, 3, 2, 4, 5].map((i) => log[i] ?? ''),
      'reordered',
      3,
    ],
    ['a line that is not an entry', (log: string[]) => log.toSpliced(2, 0, 'hello'), 'unreadable', 3],
    ['a line of JSON that is not an entry', (log: string[]) => log.toSpliced(2, 0, '{}'), 'unreadable', 3],
  ] as const)('detects %s', async (_, change, problem, line) => {
    const found = await verify(change([...lines]));
    expect(found.break).toMatchObject({ problem, line });
  });

  test('detects a wrong list of open intents', async () => {
    const forged = linkEntry(draft(), { head: emptyHead, open: [7], at: stillClock.now() });
    expect((await verify([forged.line])).break).toMatchObject({ problem: 'edited', seq: 1 });
  });

  test('detects a chain with another beginning', async () => {
    const head = { size: 0, hash: 'f'.repeat(64) };
    const forged = linkEntry(draft(), { head, open: [], at: stillClock.now() });
    expect((await verify([forged.line])).break?.message).toContain('not the start');
  });

  test('finds any change of any byte, or ends at another head', async () => {
    const whole = Buffer.from(`${lines.join('\n')}\n`);
    const original = await verify(lines);
    await fc.assert(
      fc.asyncProperty(fc.nat(whole.length - 1), fc.integer({ min: 1, max: 255 }), async (at, difference) => {
        const mutated = Buffer.from(whole);
        mutated[at] = (mutated[at] ?? 0) ^ difference;
        const found = await verify(split(mutated));
        expect(found.break !== null || found.head.hash !== original.head.hash).toBe(true);
      }),
      { numRuns: runs(500) },
    );
  });

  test('finds any removal, repetition or exchange of lines, or ends at another head', async () => {
    const original = await verify(lines);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(lines.length - 1), { maxLength: 9 }), async (order) => {
        fc.pre(order.join() !== lines.map((_, index) => index).join());
        const found = await verify(order.map((index) => lines[index] ?? ''));
        expect(found.break !== null || found.head.hash !== original.head.hash).toBe(true);
      }),
    );
  });

  test('reads back what it accepts', () => {
    for (const line of lines) expect(parseEntry(Buffer.from(line))).toEqual(JSON.parse(line));
  });
});

function split(bytes: Buffer): Buffer[] {
  const pieces: Buffer[] = [];
  let start = 0;
  for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, start)) {
    pieces.push(bytes.subarray(start, end));
    start = end + 1;
  }
  return start < bytes.length ? [...pieces, bytes.subarray(start)] : pieces;
}
