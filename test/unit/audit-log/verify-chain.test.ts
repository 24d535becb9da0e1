import { runs } from '@tokenctl/testing/runs.ts';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonical, emptyHead, hashOf, openAfter } from '../../../src/audit-log/chain.ts';
import { parseEntry } from '../../../src/audit-log/entry.ts';
import type { Line } from '../../../src/audit-log/lines.ts';
import { verifyChain } from '../../../src/audit-log/verify-chain.ts';
import type { Entry, EntryDraft } from '../../../src/operations/ports/audit-log.ts';
import { draft } from '../../support/drafts.ts';
import { chainOf, lineOf, logOfLines } from './chains.ts';

/** How many lines are valid from the beginning on: each is parsed, written again in canonical form, and compared. */
function validLines(text: Buffer): number {
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
    // JSON can write numbers that are too large, and lone surrogates. They have no canonical form.
    return false;
  }
}

async function* linesIn(bytes: Buffer): AsyncIterable<Line[]> {
  let start = 0;
  for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, start)) {
    yield [lineOf(bytes.subarray(start, end))];
    start = end + 1;
  }
  if (start < bytes.length) yield [lineOf(bytes.subarray(start), false)];
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

test('accepts exactly the valid lines, whatever bytes are replaced', () =>
  fc.assert(
    fc.asyncProperty(
      text,
      fc.nat(5000),
      fc.nat(2),
      fc.uint8Array({ maxLength: 3 }),
      async (whole, position, removed, added) => {
        const at = position % whole.length;
        const bytes = Buffer.concat([whole.subarray(0, at), added, whole.subarray(at + removed)]);
        const { entries, tornBytes, break: found } = await verifyChain(linesIn(bytes));
        expect(entries).toBe(validLines(bytes));
        if (found === null) expect(tornBytes).toBe(bytes.length - bytes.lastIndexOf(10) - 1);
      },
    ),
    { numRuns: runs(2000) },
  ));

test('rejects bytes that are not UTF-8', async () => {
  const [line = ''] = chainOf([draft({ data: { text: 'é\ufffd' } })]);
  const bytes = Buffer.from(line);
  bytes[bytes.indexOf('é')] = 0xff;
  expect((await logOfLines([bytes]).verify()).break).toMatchObject({ line: 1 });
});

describe('the canonical form', () => {
  const [plain = ''] = chainOf([
    draft({ kind: 'intent', data: { a: [1, -2, 0], b: { c: 'x\\"y' }, d: [true, false, null] } }),
  ]);

  test.each([
    ['keys out of order', ['{"a":[1', '{"z":[1']],
    ['a repeated key', ['"b":{"c"', '"a":{"c"']],
    ['numeric keys in numeric order', ['{"c":"x\\\\\\"y"}', '{"9":1,"10":2}']],
    ['a number with a leading zero', ['[1,-2,0]', '[1,-2,00]']],
    ['a negative zero', ['-2', '-0']],
    ['a number that is too large', ['-2', '2e999']],
    ['an unnecessary escape', ['x\\\\', '\\u0078']],
    ['an escape in upper case', ['x\\\\', '\\u001F']],
    ['a lone surrogate', ['x\\\\', '\\ud800']],
    ['a space', [',"b"', ', "b"']],
    ['a control character', ['x\\\\', 'x\t']],
    ['an invalid date', ['2026-11-20T', '2026-11-31T']],
    ['an invalid time', ['T10:00', 'T24:00']],
    ['another version', ['"v":1}', '"v":2}']],
    ['an unknown kind', ['"intent"', '"intents"']],
    ['the number 0', ['"seq":1', '"seq":0']],
    ['an empty run', [/"run":"[^"]+"/, '"run":""']],
    ['a host that is not a text', ['"host":"bastion"', '"host":1']],
    ['an unknown key', ['"v":1}', '"v":1,"w":1}']],
    ['text after the entry', ['"v":1}', '"v":1} ']],
  ] as const)('is not %s', async (_, [from, to]) => {
    const line = plain.replace(from, to);
    expect(line).not.toBe(plain);
    expect((await logOfLines([plain]).verify()).break).toBeNull();
    expect((await logOfLines([line]).verify()).break).toMatchObject({ line: 1 });
  });

  test('may have numeric keys, and a backslash before "ud"', async () => {
    const lines = chainOf([draft({ data: { '10': 1, '9': 2, text: '\\ud800', __proto__: null } })]);
    expect((await logOfLines(lines).verify()).break).toBeNull();
  });
});
