import { describe, expect, test } from 'vitest';
import { instantOf, parseAge, parseMoment } from '../../../src/cli/flags/times.ts';

const HOUR = 3_600_000;
const now = new Date('2026-03-01T12:00:00Z');

describe('an age', () => {
  test.each([
    ['90m', 1.5 * HOUR],
    ['12h', 12 * HOUR],
    ['30d', 30 * 24 * HOUR],
    ['2w', 14 * 24 * HOUR],
    ['1y', 365 * 24 * HOUR],
    ['1h30m', 1.5 * HOUR],
    ['1d12h', 36 * HOUR],
  ])('%s is read', (text, milliseconds) => {
    expect(parseAge(text)).toBe(milliseconds);
  });

  test.each([
    '',
    '0d',
    '-1d',
    '1.5d',
    '30',
    'd',
    '30 d',
    '1M',
    '30D',
    '1e3d',
    '9999999d',
    '30m1h',
    '1h1h',
    '0h0m',
  ])('"%s" is refused, with an example of a good one', (text) => {
    expect(() => parseAge(text)).toThrow(/Invalid age .* 90d/);
  });

  test.each(['1001y', '999999y', '365001d'])('"%s" is refused: dates end before that', (text) => {
    expect(() => parseAge(text)).toThrow(`Invalid age "${text}": the maximum is 1000y.`);
  });
});

describe('a moment', () => {
  test.each([
    ['30d', '2026-01-30T12:00:00.000Z'],
    ['2026-01-31', '2026-01-31T00:00:00.000Z'],
    ['2026-01-31T12:30:00Z', '2026-01-31T12:30:00.000Z'],
    ['2026-01-31T12:30+02:00', '2026-01-31T10:30:00.000Z'],
    ['2024-02-29', '2024-02-29T00:00:00.000Z'],
  ])('%s means %s', (text, instant) => {
    expect(instantOf(parseMoment(text), now).toISOString()).toBe(instant);
  });

  test.each(['tomorrow', '24:00', '7:5', '2026-02-30', '2026-13-01', '31.01.2026', '2026-01-31T25:00Z'])(
    '"%s" is refused',
    (text) => {
      expect(() => parseMoment(text)).toThrow(/Invalid time/);
    },
  );

  test('a time without a zone is in that of the machine, and in the past', () => {
    const here = (day: number, hours: number, minutes: number) => {
      const at = new Date(now);
      at.setHours(hours, minutes, 0, 0);
      at.setDate(at.getDate() + day);
      return at;
    };
    const [noon, later, sooner] = [now.getHours(), now.getHours() + 1, now.getHours() - 1];
    expect(instantOf(parseMoment(`${noon}:00`), now)).toEqual(now);
    expect(instantOf(parseMoment(`${later}:30`), now)).toEqual(here(-1, later, 30));
    expect(instantOf(parseMoment(`${sooner}:30`), now)).toEqual(here(0, sooner, 30));
    expect(instantOf(parseMoment('today'), now)).toEqual(here(0, 0, 0));
    expect(instantOf(parseMoment('yesterday'), now)).toEqual(here(-1, 0, 0));
    for (const text of ['2026-02-27 22:30', '2026-02-27T22:30:00'])
      expect(instantOf(parseMoment(text), now)).toEqual(new Date(2026, 1, 27, 22, 30));
  });
});
