import { isUtf8 } from 'node:buffer';
import { runs } from '@tokenctl/testing/runs.ts';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LineReader } from '../../../src/audit-log/canonical-line.ts';
import { type ChainState, canonical, openAfter } from '../../../src/audit-log/chain.ts';
import { parseEntry } from '../../../src/audit-log/entry.ts';
import type { Entry } from '../../../src/operations/ports/audit-log.ts';
import { draft } from '../../support/drafts.ts';
import { chainOf } from './chains.ts';

/** What {@link LineReader} may find: a line is parsed, written again in canonical form, and compared. */
function openAfterParsed(line: Buffer, { head, open }: ChainState): readonly number[] | null {
  const entry = isUtf8(line) ? parseEntry(line) : null;
  if (entry === null || entry.previous !== head.hash || entry.seq !== head.size + 1) return null;
  const openNow = openAfter(open, entry);
  return isCanonical(entry, line) && canonical(entry.open) === canonical(openNow) ? openNow : null;
}

function isCanonical(entry: Entry, line: Buffer): boolean {
  try {
    return Buffer.from(canonical(entry)).equals(line);
  } catch {
    return false;
  }
}

/** The last of three lines, and the chain before it. */
function lastLine(data: Entry['data']): { readonly line: string; readonly before: ChainState } {
  const drafts = [
    draft({ kind: 'intent' }),
    draft({ kind: 'intent' }),
    draft({ kind: 'outcome', closes: 1, data }),
  ];
  const line = chainOf(drafts)[2] ?? '';
  const { previous } = JSON.parse(line) as Entry;
  return { line, before: { head: { size: 2, hash: previous }, open: [1, 2] } };
}

/** Compares both for a line, read after another one, as its beginning and end may be known. */
function compare(line: Buffer, known: Buffer, before: ChainState): void {
  if (!isUtf8(line)) return;
  const reader = new LineReader();
  reader.openAfterNext(known, before);
  const found = reader.openAfterNext(line, before);
  if (found !== null) expect(found).toEqual(openAfterParsed(line, before));
}

/**
 * None ends with a backslash: after such a key, `JSON.parse` of V8 13.6 takes others that begin with its bytes for it, as `"\\n"` for
 * `"\\\\"`.
 */
const keys = [
  '',
  ' ',
  '!',
  '"',
  '\\x',
  '\n',
  '\t',
  '\u0001',
  '\u001f',
  'a',
  'a!',
  'a"',
  'ab',
  'a\\x',
  'aé',
  'é',
  '\ue000',
  '\u{10000}',
  '__proto__',
  '10',
  '9',
];
const numbers = [
  '0',
  '-0',
  '00',
  '01',
  '1.0',
  '1.50',
  '0.5',
  '.5',
  '5.',
  '1e3',
  '1E3',
  '1e+21',
  '1e21',
  '1e-7',
  '1e999',
  '-1',
  '+1',
  '--1',
  '9007199254740993',
  '12345678901234567890',
  '-1.2345678901234567e-308',
  '1.2345678901234567e-3081',
  'NaN',
  'Infinity',
  '0x10',
];
const texts = [
  '"a\\u0041"',
  '"\\/"',
  '"\\u001F"',
  '"\\u001f"',
  '"\\u0008"',
  '"\\b"',
  '"\\ud800"',
  '"\\ud83d\\ude00"',
  '"\\u00e9"',
  '"\u0001"',
  '"\u007f"',
  '"é"',
  '"\u{1f600}"',
  '"a',
  '"\\"',
  '"\\x"',
  '"\\',
];
const others = [
  'true',
  'True',
  'tru',
  'null',
  '[]',
  '{}',
  '[ ]',
  '{"a":1,}',
  '[1,]',
  '[,1]',
  '{"a"}',
  '{"a":}',
  '{"b":1,"a":1}',
  '{"a":1,"a":1}',
  '{1:2}',
  '[1 ,2]',
  '[1}',
  '{"a":1]',
  '',
];

const values = fc.jsonValue({ maxDepth: 2 }).filter((value) => !JSON.stringify(value).includes('\\\\'));

/** JSON with members in any order, repeated, and values that no writer writes. */
const written: fc.Arbitrary<string> = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(...numbers, ...texts, ...others),
    values.map((value) => JSON.stringify(value)),
    fc.array(tie('value'), { maxLength: 3 }).map((values) => `[${values.join(',')}]`),
    fc
      .array(fc.tuple(fc.constantFrom(...keys), tie('value')), { maxLength: 4 })
      .map((members) => `{${members.map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(',')}}`),
  ),
})).value;

describe('a line that was read without parsing it', () => {
  test('is one that parsing accepts, whatever its data is', () =>
    fc.assert(
      fc.property(written, written, fc.constantFrom(...keys), (one, other, key) => {
        const { line, before } = lastLine({ z: null });
        const data = `{${JSON.stringify(key)}:${one},"b":${other}}`;
        const known = Buffer.from(line);
        compare(Buffer.from(line.replace('{"z":null}', () => data)), known, before);
        compare(Buffer.from(line.replace('{"host":"bastion","user":"root"}', () => data)), known, before);
        compare(Buffer.from(line.replace(/"context":"production"/, () => `"b":${one}`)), known, before);
      }),
      { numRuns: runs(2000) },
    ));

  test('is one that parsing accepts, whatever two keys it has', () => {
    const { line, before } = lastLine({ z: null });
    for (const key of keys) {
      for (const next of keys) {
        const data = `{${JSON.stringify(key)}:1,${JSON.stringify(next)}:2}`;
        compare(Buffer.from(line.replace('{"z":null}', () => data)), Buffer.from(line), before);
      }
    }
  });

  test.each(
    [
      '00:00:00.000',
      '23:59:59.999',
      '24:00:00.000',
      '00:60:00.000',
      '00:00:60.000',
      '0:00:00.000',
      '0a:00:00.000',
    ]
      .concat([
        '00:00:00.00',
        '00:00:00.0000',
        '00:00:00.0x0',
        '00.00:00.000',
        '00:00:00,000',
        '00:00:00',
        '',
      ])
      .map((time) => ({ time })),
  )('is one that parsing accepts, at the time of day $time', ({ time }) => {
    const { line, before } = lastLine({});
    compare(Buffer.from(line.replace(/T[\d:.]+Z/, `T${time}Z`)), Buffer.from(line), before);
  });

  test('is one that parsing accepts, whatever it closes, and wherever one that is known ends', () => {
    const { line, before } = lastLine({});
    const whole = Buffer.from(line);
    for (const number of numbers)
      compare(Buffer.from(line.replace('"closes":1', `"closes":${number}`)), whole, before);
    compare(Buffer.concat([whole, Buffer.from('}')]), whole, before);
    for (let at = 0; at < whole.length; at += 1) {
      compare(whole.subarray(0, at), whole, before);
      compare(
        Buffer.concat([whole.subarray(0, at), Buffer.from('x'), whole.subarray(at + 1)]),
        whole,
        before,
      );
    }
  });

  test('is one that parsing accepts, whatever bytes and tokens are replaced', () => {
    const bytes = fc.uint8Array({ maxLength: 3 }).map((each) => Buffer.from(each));
    const tokens = fc
      .constantFrom(...numbers, ...texts, ...others, ' ', ',', ':', '"', '\r', '\ufeff')
      .map((each) => Buffer.from(each));
    return fc.assert(
      fc.property(values, fc.nat(1000), fc.nat(3), fc.oneof(bytes, tokens), (value, at, removed, added) => {
        const { line, before } = lastLine({ a: value as never, b: ['é', 1.5, true, -2] });
        const whole = Buffer.from(line);
        // In the middle of anything, and in place of a number or a text.
        const index = at % whole.length;
        compare(
          Buffer.concat([whole.subarray(0, index), added, whole.subarray(index + removed)]),
          whole,
          before,
        );
        const found = [...line.matchAll(/-?\d[\d.]*|"[^"]*"/g)];
        const token = found[at % found.length];
        const start = Buffer.byteLength(line.slice(0, token?.index));
        const end = start + Buffer.byteLength(token?.[0] ?? '');
        compare(Buffer.concat([whole.subarray(0, start), added, whole.subarray(end)]), whole, before);
      }),
      { numRuns: runs(2000) },
    );
  });

  test.each([
    [
      'of all kinds of values',
      { a: [1, -2, 0, 1.5, 1e21], b: { c: 'x"\\\u0001é', 'c d': [] }, d: [true, false, null], e: {} },
    ],
    ['with keys that begin alike', { id: 1, id2: 2, ids: 3, member_0: 4, member_1: 5, é: 6 }],
    ['of a mebibyte', { text: 'x'.repeat(2 ** 20), ids: Array.from({ length: 1000 }, (_, index) => index) }],
  ])('may be one %s', (_, data) => {
    const { line, before } = lastLine(data);
    const reader = new LineReader();
    expect(reader.openAfterNext(Buffer.from(line), before)).toEqual([2]);
    expect(reader.openAfterNext(Buffer.from(line), before)).toEqual([2]);
  });

  test('is none with lists in lists without end', () => {
    const deep = (depth: number) => lastLine({ deep: JSON.parse('['.repeat(depth) + ']'.repeat(depth)) });
    const { line, before } = deep(500);
    expect(new LineReader().openAfterNext(Buffer.from(line), before)).toBeNull();
  });

  test.each([
    ['another number', { head: { size: 3 } }],
    ['a different hash', { head: { hash: 'f'.repeat(64) } }],
    ['other open intents', { open: [1, 2, 9] }],
  ])('is none with %s before it', (_, { head, open }: { head?: object; open?: number[] }) => {
    const { line, before } = lastLine({});
    const other = { head: { ...before.head, ...head }, open: open ?? before.open };
    expect(new LineReader().openAfterNext(Buffer.from(line), other)).toBeNull();
  });
});
