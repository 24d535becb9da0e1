import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Incident, neededSince } from '../../../src/domain/incident/incident.ts';

/** An incident that began and was lifted on these days of a month; null for one that is open. Its lift may have left a user. */
function incident(began: number, lifted: number | null, leaves = false): Incident {
  const day = (number: number) => `2026-01-${String(number).padStart(2, '0')}T00:00:00.000Z`;
  return {
    id: `inc-${began}`,
    scope: { kind: 'all' },
    measures: {
      basicAuthentication: true,
      externalTokens: true,
      deactivate: false,
      keepActive: [],
      lifetimes: false,
    },
    selection: '',
    since: '2030-01-01T00:00:00.000Z',
    loggedAt: day(began),
    by: {},
    context: '',
    reason: null,
    ticket: null,
    until: null,
    state: lifted === null ? 'locked' : 'lifted',
    locked: null,
    lifted: lifted === null ? null : { at: day(lifted), by: {} },
    released: lifted === null ? null : day(lifted),
    snapshot: null,
    kept: [],
    ends: {},
    keepsDeactivated: false,
    stays: leaves ? [{ what: 'user', name: 'bob', userId: 3 }] : [],
  };
}

test.each<[string, [number, number | null][], number | null]>([
  ['none', [], null],
  ['one that is lifted', [[1, 2]], null],
  ['an open one', [[3, null]], 3],
  [
    'the first of two that are open',
    [
      [3, null],
      [5, null],
    ],
    3,
  ],
  [
    'an open one, and not what was over before',
    [
      [1, 2],
      [3, null],
    ],
    3,
  ],
  [
    'what was lifted after an open one began',
    [
      [1, 4],
      [3, null],
    ],
    1,
  ],
  [
    'a row of them, each begun before the other was lifted',
    [
      [1, 3],
      [2, 5],
      [4, null],
    ],
    1,
  ],
])('needed is %s', (_what, days, since) => {
  const incidents = days.map(([began, lifted]) => incident(began, lifted));
  const expected = since === null ? null : `2026-01-0${since}T00:00:00.000Z`;
  expect(neededSince(incidents)).toBe(expected);
  expect(neededSince(incidents.toReversed())).toBe(expected);
});

test('what a lift left is needed, and what ended after it began, until it is restored', () => {
  const kept = incident(4, 6, true);
  const [before, beside, later] = [incident(1, 2), incident(3, 5), incident(7, 8)];
  expect(neededSince([before, kept, later])).toBe(kept.loggedAt);
  expect(neededSince([before, beside, kept])).toBe(beside.loggedAt);
  const givenBack = { ...incident(4, 6), released: '2026-01-08T00:00:00.000Z' };
  expect(neededSince([givenBack])).toBeNull();
  // An open one began while its user was still deactivated: the original value is recorded with the first.
  expect(neededSince([givenBack, incident(7, null)])).toBe(givenBack.loggedAt);
  expect(neededSince([givenBack, incident(9, null)])).toBe('2026-01-09T00:00:00.000Z');
});

test('whatever overlaps, by a row of others, what is open is needed, and nothing else', () => {
  const days = fc
    .tuple(fc.integer({ min: 1, max: 28 }), fc.integer({ min: 0, max: 10 }), fc.boolean())
    .map(([began, lasted, leaves]) =>
      incident(began, lasted === 0 ? null : Math.min(28, began + lasted), leaves && lasted > 0),
    );
  fc.assert(
    fc.property(fc.array(days, { maxLength: 8 }), (incidents) => {
      const isHeld = ({ lifted, stays }: Incident) => lifted === null || stays.length > 0;
      const needed = new Set(incidents.filter(isHeld));
      for (let grown = -1; grown !== needed.size; ) {
        grown = needed.size;
        for (const each of incidents) {
          const end = isHeld(each) ? '9' : (each.lifted?.at ?? '9');
          if ([...needed].some(({ loggedAt }) => end >= loggedAt)) needed.add(each);
        }
      }
      const earliest = [...needed].map(({ loggedAt }) => loggedAt).sort()[0] ?? null;
      expect(neededSince(incidents)).toBe(earliest);
    }),
  );
});
