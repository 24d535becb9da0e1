import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonical, emptyHead, hashOf, openAfter } from '../../src/audit-log/chain.ts';
import { ChainScan } from '../../src/audit-log/chain-scan.ts';
import { parseEntry } from '../../src/audit-log/entry.ts';
import { verifyChunks } from '../../src/audit-log/verify-chain.ts';
import type { Entry, EntryDraft } from '../../src/operations/ports/audit-log.ts';
import { chainOf } from './chains.ts';
import { draft } from './drafts.ts';

/** How many lines hold from the beginning on, by parsing each and writing it again. */
function holding(text: Buffer): number {
  let { size, hash } = emptyHead;
  let open: readonly number[] = [];
  for (let start = 0, end = text.indexOf(10); end !== -1; start = end + 1, end = text.indexOf(10, start)) {
    const line = text.subarray(start, end);
    const entry = parseEntry(line);
    if (entry === null || entry.seq !== size + 1 || entry.previous !== hash) return size;
    open = openAfter(open, entry);
    if (canonical(entry.open) !== canonical(open)) return size;
    if (!isCanonical(entry, line)) return size;
    size += 1;
    hash = hashOf(line);
  }
  return size;
}

function isCanonical(entry: Entry, line: Buffer): boolean {
  try {
    return Buffer.from(canonical(entry)).equals(line);
  } catch {
    // A number that is too large, or half of a surrogate pair: JSON can write them, and has no canonical form.
    return false;
  }
}

const drafts = fc.array(
  fc.record({
    kind: fc.constantFrom('intent' as const, 'outcome' as const, 'note' as const),
    closes: fc.option(fc.nat(5), { nil: undefined }),
    data: fc.dictionary(fc.string({ maxLength: 3 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 }),
  }),
  { minLength: 1, maxLength: 8 },
);

const text = drafts.map((parts) => {
  const lines = chainOf(
    parts.map(
      ({ closes, ...each }): EntryDraft => draft({ ...each, ...(closes !== undefined && { closes }) }),
    ),
  );
  return Buffer.from(`${lines.join('\n')}\n`);
});

/** Pieces of whole lines: what a file is read in. */
async function* pieces(bytes: Buffer, count: number): AsyncIterable<Buffer> {
  for (let start = 0; start < bytes.length; ) {
    const wanted = Math.min(start + Math.ceil(bytes.length / count), bytes.length);
    const end = bytes.indexOf(10, wanted - 1) + 1 || bytes.length;
    yield bytes.subarray(start, end);
    start = end;
  }
}

describe('ChainScan', () => {
  test('accepts nothing that does not hold, and with the parser all that does, whatever bytes are there', () =>
    fc.assert(
      fc.asyncProperty(
        text,
        fc.nat(5000),
        fc.nat(2),
        fc.uint8Array({ maxLength: 3 }),
        fc.integer({ min: 1, max: 4 }),
        async (whole, position, removed, added, count) => {
          const at = position % whole.length;
          const bytes = Buffer.concat([whole.subarray(0, at), added, whole.subarray(at + removed)]);
          const expected = holding(bytes);
          const scan = new ChainScan();
          const end = scan.accept(bytes, { start: 0 });
          expect(scan.chain.head.size).toBeLessThanOrEqual(expected);
          expect(holding(bytes.subarray(0, end))).toBe(scan.chain.head.size);
          const { entries, tornBytes, break: found } = await verifyChunks(pieces(bytes, count));
          expect(entries).toBe(expected);
          if (found === null) expect(tornBytes).toBe(bytes.length - bytes.lastIndexOf(10) - 1);
        },
      ),
      { numRuns: 2000 },
    ));

  test('accepts a log as the program writes it, to its last entry', () => {
    const [first = '', second = '', third = ''] = chainOf([
      draft({ kind: 'intent' }),
      draft({ kind: 'intent', data: { ids: [1, 22, 0], text: 'größer ☃ 𝄞' } }),
      draft({ kind: 'outcome', closes: 1 }),
    ]);
    const lines = Buffer.from(`${first}\n${second}\n${third}\n{"half":`);
    const given: string[] = [];
    const scan = new ChainScan();
    const end = scan.accept(lines, { start: 0, each: (line) => given.push(line.toString('utf8')) });
    expect(lines.toString('utf8', end)).toBe('{"half":');
    expect(given).toEqual([first, second, third]);
    expect(scan.chain).toMatchObject({ head: { size: 3, hash: hashOf(third) }, open: [2] });
  });

  test('leaves bytes that are no UTF-8 to the parser, which makes other characters of them', () => {
    const [line = ''] = chainOf([draft({ data: { text: 'é' } })]);
    const bytes = Buffer.from(`${line}\n`);
    bytes[bytes.indexOf('é') + 1] = 0x22;
    expect(new ChainScan().accept(bytes, { start: 0 })).toBe(0);
    bytes[bytes.indexOf(0xc3)] = 0xff;
    expect(new ChainScan().accept(bytes, { start: 0 })).toBe(0);
  });
});
