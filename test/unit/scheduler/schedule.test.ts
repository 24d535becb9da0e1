import { describe, expect, it } from 'vitest';
import { Schedule } from '../../../src/scheduler/schedule.ts';

function ticks(expression: string, timeZone: string, after: string, count: number): string[] {
  const schedule = new Schedule({ expression, timeZone });
  const found: string[] = [];
  let at = new Date(after);
  for (let index = 0; index < count; index += 1) {
    at = schedule.next(at);
    found.push(at.toISOString().slice(5, 16));
  }
  return found;
}

describe('a schedule', () => {
  it('takes five fields, six with seconds, names and presets', () => {
    expect(ticks('30 3 * * MON-FRI', 'UTC', '2026-11-20T12:00:00Z', 2)).toEqual([
      '11-23T03:30',
      '11-24T03:30',
    ]);
    expect(ticks('0 30 3 * * *', 'UTC', '2026-11-20T12:00:00Z', 1)).toEqual(['11-21T03:30']);
    expect(ticks('@daily', 'Asia/Tokyo', '2026-11-20T12:00:00Z', 1)).toEqual(['11-20T15:00']);
  });

  it('is never due at the instant it is asked about, and is at the next one', () => {
    expect(ticks('0 3 * * *', 'UTC', '2026-11-20T03:00:00Z', 1)).toEqual(['11-21T03:00']);
    expect(ticks('0 3 * * *', 'UTC', '2026-11-20T02:59:59.999Z', 1)).toEqual(['11-20T03:00']);
  });

  describe('that names hours, where clocks go forward', () => {
    it('comes once, at the moment of the change, where its time is skipped', () => {
      // Berlin, 29 March 2026: 02:00 CET is followed by 03:00 CEST, at 01:00 UTC.
      expect(ticks('30 2 * * *', 'Europe/Berlin', '2026-03-27T12:00:00Z', 3)).toEqual([
        '03-28T01:30',
        '03-29T01:00',
        '03-30T00:30',
      ]);
      expect(ticks('*/20 2 * * *', 'Europe/Berlin', '2026-03-28T12:00:00Z', 2)).toEqual([
        '03-29T01:00',
        '03-30T00:00',
      ]);
    });

    it('does so south of the equator as well', () => {
      expect(ticks('30 2 * * *', 'Australia/Sydney', '2026-10-02T20:00:00Z', 2)).toEqual([
        '10-03T16:00',
        '10-04T15:30',
      ]);
    });
  });

  describe('that names hours, where clocks go back', () => {
    it('comes once, the first time that clocks show its time', () => {
      // Berlin, 25 October 2026: 03:00 CEST is followed by 02:00 CET, at 01:00 UTC.
      expect(ticks('30 2 * * *', 'Europe/Berlin', '2026-10-23T12:00:00Z', 3)).toEqual([
        '10-24T00:30',
        '10-25T00:30',
        '10-26T01:30',
      ]);
      expect(ticks('0 1-3 * * *', 'Europe/Berlin', '2026-10-24T20:00:00Z', 3)).toEqual([
        '10-24T23:00',
        '10-25T00:00',
        '10-25T02:00',
      ]);
    });

    it('does so where they go back by half an hour', () => {
      expect(ticks('45 1 * * *', 'Australia/Lord_Howe', '2026-04-04T00:00:00Z', 2)).toEqual([
        '04-04T14:45',
        '04-05T15:15',
      ]);
    });
  });

  it('for every hour goes by elapsed time, whatever clocks do', () => {
    const zones = [
      ['Europe/Berlin', '2026-03-29T00:00:00Z'],
      ['Europe/Berlin', '2026-10-25T00:00:00Z'],
      ['Australia/Sydney', '2026-10-03T15:00:00Z'],
      ['America/New_York', '2026-11-01T05:00:00Z'],
    ] as const;
    for (const [zone, from] of zones) {
      const found = ticks('30 * * * *', zone, from, 6);
      const expected = found.map((_, index) =>
        new Date(Date.parse(from) + index * 3_600_000 + 1_800_000).toISOString().slice(5, 16),
      );
      expect(found, zone).toEqual(expected);
    }
    expect(ticks('*/15 * * * *', 'Australia/Lord_Howe', '2026-04-04T14:45:00Z', 4)).toEqual([
      '04-04T15:00',
      '04-04T15:15',
      '04-04T15:30',
      '04-04T15:45',
    ]);
  });

  it('comes once on every day of ten years, those with a change included', { tags: ['long'] }, () => {
    const schedule = new Schedule({ expression: '15 2 * * *', timeZone: 'America/Sao_Paulo' });
    let at = new Date('2010-01-01T00:00:00Z');
    const days = new Set<string>();
    const format = new Intl.DateTimeFormat('en-CA', { timeZone: 'America/Sao_Paulo' });
    for (let day = 0; day < 3652; day += 1) {
      at = schedule.next(at);
      days.add(format.format(at));
    }
    expect(days.size).toBe(3652);
    expect([...days].at(-1)).toBe('2019-12-31');
  });

  it('finds the newest tick without walking through all of them', () => {
    const schedule = new Schedule({ expression: '* * * * *', timeZone: 'UTC' });
    const newest = (after: string, upTo: string) =>
      schedule.newest({ after: new Date(after), upTo: new Date(upTo) });
    expect(newest('1990-01-01T00:00:00Z', '2026-01-01T00:00:30Z')).toEqual(new Date('2026-01-01T00:00:00Z'));
    expect(newest('2026-01-01T00:00:00Z', '2026-01-01T00:00:30Z')).toBeNull();
    expect(newest('2026-01-01T00:00:30Z', '2026-01-01T00:00:10Z')).toBeNull();
  });

  it.each([
    ['0 0 31 2 *', 'UTC', 'no run in the next eight years'],
    ['61 * * * *', 'UTC', 'out of range'],
    ['0 3 * *', 'UTC', 'Too few fields'],
    ['0 3 * * *', 'Mars/Olympus', 'Invalid timezone'],
  ])('"%s" in %s is refused: %s', (expression, timeZone, why) => {
    expect(() => new Schedule({ expression, timeZone })).toThrow(
      expect.objectContaining({ code: 'configuration', message: expect.stringContaining(why) }),
    );
  });
});
