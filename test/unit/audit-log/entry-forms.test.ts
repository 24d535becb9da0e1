import { runs } from '@tokenctl/testing/runs.ts';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonical } from '../../../src/audit-log/chain.ts';
import { parseEntry } from '../../../src/audit-log/entry.ts';
import { EntryForms } from '../../../src/audit-log/entry-forms.ts';
import type { Entry } from '../../../src/operations/ports/audit-log.ts';
import { draft } from '../../support/drafts.ts';
import { chainOf } from './chains.ts';

const latin1 = (line: string) => Buffer.from(line).toString('latin1');

const data = fc.dictionary(fc.string({ maxLength: 4 }), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 4 });
const line = data.map((each) => chainOf([draft({ data: each })])[0] ?? '');

function formsOf(...lines: readonly string[]): EntryForms {
  const forms = new EntryForms(0);
  for (const each of lines) forms.learn(JSON.parse(each) as Entry);
  return forms;
}

test('reads the links of a line of a form that it learned', () => {
  const lines = chainOf([
    draft({ kind: 'intent', data: { ids: [1, 2, 3], name: 'alice', inner: { done: true } } }),
    draft({ kind: 'outcome', closes: 1, data: { ids: [], name: 'bob "é" \u0001', inner: { done: null } } }),
  ]);
  const forms = formsOf(lines[0] ?? '');
  const { seq, previous, kind, closes, open } = JSON.parse(lines[1] ?? '') as Entry;
  expect(forms.read(latin1(lines[1] ?? ''))).toEqual({
    seq,
    previous,
    kind,
    closes,
    open: JSON.stringify(open),
  });
});

test('a log of few entries is parsed: to compile a pattern of its forms takes longer', () => {
  const [first = '', second = ''] = chainOf([draft({ data: { name: 1 } }), draft({ data: { name: 2 } })]);
  const forms = new EntryForms();
  forms.learn(JSON.parse(first) as Entry);
  expect(forms.read(latin1(second))).toBeNull();
});

test.each([
  ['another key', { names: 'x' }],
  ['another kind of value', { name: ['x'] }],
  ['no integer', { name: 1.5 }],
  ['an integer that readers round', { name: 2 ** 53 }],
])('parses a line with %s', (_, other) => {
  const [known = '', line = ''] = chainOf([draft({ data: { name: 1 } }), draft({ data: other })]);
  expect(formsOf(known).read(latin1(line))).toBeNull();
});

test('takes only what parsing finds to be a valid entry in canonical form', () =>
  fc.assert(
    fc.property(
      fc.array(line, { minLength: 1, maxLength: 4 }),
      fc.nat(1000),
      fc.nat(2),
      fc.constantFrom(
        '',
        ' ',
        '"',
        ',',
        '0',
        '1',
        '-',
        '\\\\',
        '\\u0008',
        '\u0001',
        '{}',
        '[]',
        'null',
        '\u00e9',
      ),
      (lines, at, removed, added) => {
        const known = lines[0] ?? '';
        const index = at % known.length;
        const changed = known.slice(0, index) + added + known.slice(index + removed);
        const links = formsOf(...lines).read(latin1(changed));
        if (links === null) return;
        const entry = parseEntry(Buffer.from(changed));
        if (entry === null) expect(links.previous).not.toMatch(/^[0-9a-f]{64}$/);
        else expect([canonical(entry), String(entry.seq)]).toEqual([changed, String(links.seq)]);
      },
    ),
    { numRuns: runs(500) },
  ));

test('grows with no form that repeats lists in lists, or is too long', () => {
  let deep: unknown = 1;
  for (let depth = 0; depth < 500; depth += 1) deep = [deep];
  const wide = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`k${index}`, index]));
  const [one = '', other = ''] = chainOf([draft({ data: { deep } }), draft({ data: wide })]);
  const forms = formsOf(one, other);
  expect(forms.read(one)).toBeNull();
  expect(forms.read(other)).toBeNull();
});
