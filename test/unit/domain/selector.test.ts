import { describe, expect, test } from 'vitest';
import { describeSelector, type Selector, validateSelector } from '../../../src/domain/selector.ts';

const day = new Date('2026-08-22T00:00:00.000Z');

describe('validateSelector', () => {
  test.each([
    { all: true },
    { ids: [1, 2] },
    { users: ['alice'], scope: 'write' },
    { unusedSince: day },
  ] as Selector[])('accepts %o', (selector) => {
    expect(() => validateSelector(selector)).not.toThrow();
  });

  test.each([
    ['nothing', {}],
    ['nothing but undefined criteria', { users: undefined } as unknown as Selector],
    ['all and a criterion', { all: true, users: ['alice'] }],
    ['an empty list', { users: [] }],
    ['an id that is none', { ids: [1, 0] }],
    ['a fraction as an id', { ids: [1.5] }],
    ['no date', { createdBefore: new Date('soon') }],
  ] as [string, Selector][])('refuses %s', (_, selector) => {
    expect(() => validateSelector(selector)).toThrow(expect.objectContaining({ code: 'usage' }));
  });
});

describe('describeSelector', () => {
  test.each([
    [{ all: true }, 'every token'],
    [{ users: ['alice', 'bob'] }, 'tokens of alice or bob'],
    [{ ids: [1, 2, 3, 4, 5, 6, 7] }, 'tokens with id 1, 2, 3, 4, 5 or 2 more'],
    [
      { applications: ['CI'], scope: 'write', createdBefore: day },
      'tokens issued to CI, with scope write, created before 2026-08-22T00:00:00.000Z',
    ],
    [
      { unusedSince: day, expiredAt: day },
      `tokens not used since ${day.toISOString()}, expired at ${day.toISOString()}`,
    ],
  ] as [Selector, string][])('%o reads as words', (selector, words) => {
    expect(describeSelector(selector)).toBe(words);
  });
});
