import fc from 'fast-check';
import { expect, test } from 'vitest';
import { matchesGlob } from '../../../../src/domain/policy/subject.ts';

test.each<[string, string, boolean]>([
  ['', '', true],
  ['', '*', true],
  ['a', '', false],
  ['ci-deploy', 'ci-*', true],
  ['ci', 'ci-*', false],
  ['backup', 'b?ckup', true],
  ['backup', '?', false],
  ['🙂', '?', true],
  ['🙂', '*??', false],
  ['a.c', 'a.c', true],
  ['abc', 'a.c', false],
  ['one two one', '*one', true],
  ['ci-*', 'ci-\\*', true],
  ['ci-deploy', 'ci-\\*', false],
  ['ci-*', '*\\*', true],
  ['why?', 'why\\?', true],
  ['whys', 'why\\?', false],
  ['DOMAIN\\bob', 'DOMAIN\\b*', true],
])('%j and the pattern %j', (text, pattern, expected) => {
  expect(matchesGlob(text, pattern)).toBe(expected);
});

test('agrees with a regular expression made of the pattern', () => {
  const letters = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 8 });
  const patterns = fc.string({ unit: fc.constantFrom('a', 'b', '*', '?'), maxLength: 8 });
  fc.assert(
    fc.property(letters, patterns, (text, pattern) => {
      const expression = pattern.replaceAll('*', '.*').replaceAll('?', '.');
      return matchesGlob(text, pattern) === new RegExp(`^${expression}$`).test(text);
    }),
    { numRuns: 2000 },
  );
});

test('a pattern of many stars is compared to its end: with their number, attempts do not grow', () => {
  expect(matchesGlob('a'.repeat(5000), `${'*a'.repeat(40)}*b`)).toBe(false);
});
