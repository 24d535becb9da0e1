import { describe, expect, test } from 'vitest';
import {
  describeSelector,
  exactName,
  isLeftOut,
  patternOf,
  type Selector,
  validateSelector,
  wholeSelection,
} from '../../../src/domain/selector.ts';
import { token } from '../../support/tokens.ts';

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

/** As the text has it. */
const toTheSecond = (time: Date) => time.toISOString().replace('.000Z', 'Z');

describe('describeSelector', () => {
  test.each([
    [{ all: true }, 'every token'],
    [{ users: ['alice', 'bob'] }, 'tokens of alice or bob'],
    [{ ids: [1, 2, 3, 4, 5, 6, 7] }, 'tokens with ID 1, 2, 3, 4, 5 or 2 more'],
    [
      { applications: ['CI'], scope: 'write', createdBefore: day },
      'tokens issued to CI, with scope write, created before 2026-08-22T00:00:00Z',
    ],
    [
      { unusedSince: day, expiredAt: day },
      `tokens not used since ${toTheSecond(day)}, expired at ${toTheSecond(day)}`,
    ],
    [
      { notUsers: ['ci-*'], notApplications: ['CI'], createdSince: day, neverUsed: true },
      `tokens not of ci-*, not issued to CI, created since ${toTheSecond(day)}, never used`,
    ],
    [{ descriptions: ['nightly *', ''] }, 'tokens with description nightly * or ""'],
    [{ expiresAfter: day }, `tokens expiring after ${toTheSecond(day)}`],
    [
      { expiresAfter: day, expiredAt: day },
      `tokens expiring after ${toTheSecond(day)} and by ${toTheSecond(day)}`,
    ],
  ] as [Selector, string][])('%o reads as words', (selector, words) => {
    expect(describeSelector(selector)).toBe(words);
  });
});

describe('names and patterns', () => {
  test.each([
    ['alice', 'alice'],
    ['ci-*', null],
    ['ci-?', null],
    ['ci-\\*', 'ci-*'],
    ['DOMAIN\\bob', 'DOMAIN\\bob'],
  ])('%s means exactly %s', (pattern, name) => {
    expect(exactName(pattern)).toBe(name);
  });

  test.each(['alice', 'ci-*', 'what?', 'DOMAIN\\bob'])(
    'the pattern of the name %s means that name',
    (name) => {
      expect(exactName(patternOf(name))).toBe(name);
    },
  );

  test('a negation leaves out whom it matches, and nothing that has no owner or application', () => {
    const mine = token({ user: { id: 9, username: 'ci-*' }, application: { id: 1, name: 'CI' } });
    expect(isLeftOut({ notUsers: ['ci-?'] }, mine)).toBe(true);
    expect(isLeftOut({ notUsers: ['ci-\\*'] }, mine)).toBe(true);
    expect(isLeftOut({ notUsers: ['ci-\\*'] }, { ...mine, user: { id: 1, username: 'ci-a' } })).toBe(false);
    expect(isLeftOut({ notApplications: ['C*'] }, mine)).toBe(true);
    expect(
      isLeftOut({ notUsers: ['*'], notApplications: ['*'] }, { ...mine, user: null, application: null }),
    ).toBe(false);
  });

  test('only users and applications mean more than access tokens', () => {
    expect(wholeSelection({ users: ['alice'] })).toEqual({ users: ['alice'] });
    for (const narrow of [
      { notUsers: ['bob'] },
      { notApplications: ['CI'] },
      { createdSince: day },
      { none: true },
    ])
      expect(wholeSelection({ users: ['alice'], ...narrow } as Selector)).toBeNull();
  });
});
