import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonical } from '../../src/audit-log/chain.ts';
import { parseEntry } from '../../src/audit-log/entry.ts';
import { EntryScanner } from '../../src/audit-log/entry-scan.ts';
import { ScanText } from '../../src/audit-log/scan-text.ts';
import { chainOf } from './chains.ts';
import { draft } from './drafts.ts';

const NOTHING = '0'.repeat(64);

/** What the scan makes of a line, by a scanner that has read others before or none. */
function scan(line: string | Buffer, scanner = new EntryScanner(), previous = NOTHING) {
  const { buffer, byteOffset, length } = Buffer.concat([Buffer.from(line), Buffer.from('\n')]);
  const found = scanner.scan(new DataView(buffer, byteOffset, length), 0, ScanText.of(previous));
  if (found === null) return null;
  const { end, ...entry } = found;
  expect(end).toBe(length - 1);
  return entry;
}

/** What the parser makes of a line, where it is canonical and carries the hash. */
function parsed(line: Buffer) {
  const entry = parseEntry(line);
  if (entry === null || entry.previous !== NOTHING) return null;
  if (!Buffer.from(canonical(entry)).equals(line)) return null;
  const { seq, kind, closes, open } = entry;
  return { seq, kind, closes, open };
}

const [plain = ''] = chainOf([
  draft({ kind: 'outcome', closes: 7, data: { a: [1, -2, 0], b: { c: 'x\\"y' }, d: [true, false, null] } }),
]);

describe('EntryScanner', () => {
  test('reads what the parser reads', () => {
    expect(scan(plain)).toEqual(parsed(Buffer.from(plain)));
    expect(scan(plain)).toMatchObject({ seq: 1, kind: 'outcome', closes: 7, open: [] });
    const [, , third = ''] = chainOf([draft({ kind: 'intent' }), draft({ kind: 'intent' }), draft()]);
    const { previous } = JSON.parse(third) as { previous: string };
    expect(scan(third, new EntryScanner(), previous)).toMatchObject({ seq: 3, open: [1, 2] });
  });

  test('accepts nothing that the parser does not, whatever is written over it', () => {
    const alphabet = Array.from('{}[]":,\\0123456789-.eEuntfabz \u0001\u007fé');
    const piece = fc.array(fc.constantFrom(...alphabet), { maxLength: 4 }).map((parts) => parts.join(''));
    const scanner = new EntryScanner();
    fc.assert(
      fc.property(fc.nat(plain.length - 1), fc.nat(3), piece, (at, removed, added) => {
        const line = Buffer.from(plain.slice(0, at) + added + plain.slice(at + removed));
        const found = scan(line, scanner);
        if (found !== null) expect(found).toEqual(parsed(line));
      }),
      { numRuns: 20_000 },
    );
  });

  test('accepts what the program writes, but for rare keys and numbers, so that it is as fast as it can be', () => {
    const json = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.constantFrom(null, true, false),
        fc.integer(),
        fc.string({ unit: fc.integer({ min: 0, max: 127 }).map((code) => String.fromCharCode(code)) }),
        fc.string({ unit: 'binary' }),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(fc.string({ unit: fc.constantFrom(...'abYZ_-09 !#~') }), tie('value'), { maxKeys: 3 }),
      ),
    }));
    fc.assert(
      fc.property(json.value, fc.string({ unit: 'binary' }), (value, user) => {
        const [line = ''] = chainOf([draft({ actor: { user }, data: { value } })]);
        expect(scan(line)).toEqual(parsed(Buffer.from(line)));
        expect(scan(line)).not.toBeNull();
      }),
    );
  });

  test.each([
    ['keys out of order', ['{"a":[1', '{"z":[1']],
    ['a key twice', ['"b":{"c"', '"a":{"c"']],
    ['a number with a leading zero', ['[1,-2,0]', '[1,-2,00]']],
    ['a negative zero', ['-2', '-0']],
    ['an escape that is not the shortest', ['x\\\\', '\\u0078']],
    ['an escape in upper case', ['x\\\\', '\\u001F']],
    ['a space', [',"b"', ', "b"']],
    ['a control character', ['x\\\\', 'x\t']],
    ['a date that is none', ['2026-11-20T', '2026-11-31T']],
    ['a time that is none', ['T10:00', 'T24:00']],
    ['another version', ['"v":1}', '"v":2}']],
    ['another kind', ['"outcome"', '"outcomes"']],
    ['a number of 0', ['"seq":1', '"seq":0']],
    ['an empty run', [/"run":"[^"]+"/, '"run":""']],
    ['words that are no text', ['"host":"bastion"', '"host":1']],
    ['a further key', ['"v":1}', '"v":1,"w":1}']],
    ['something behind', ['"v":1}', '"v":1} ']],
  ] as const)('refuses %s', (_, [from, to]) => {
    const line = plain.replace(from, to);
    expect(line).not.toBe(plain);
    expect(scan(line)).toBeNull();
    expect(parsed(Buffer.from(line))).toBeNull();
  });
});
