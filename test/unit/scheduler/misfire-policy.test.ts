import { describe, expect, it } from 'vitest';
import { Schedule } from '../../../src/scheduler/schedule.ts';
import type { MisfirePolicy } from '../../../src/scheduler/scheduled-job.ts';
import { decide } from '../../../src/scheduler/scheduler.ts';

const schedule = new Schedule({ expression: '0 * * * *', timeZone: 'UTC' });
const WEEK = 7 * 86_400;

function decided(missed: MisfirePolicy, position: string, now: string) {
  const { skip, run } = decide({ schedule, position: new Date(position), now: new Date(now), missed });
  return [skip, run].map((tick) => tick?.toISOString().slice(5, 16) ?? null);
}

describe('ticks since the last one', () => {
  it('are none before the next is due', () => {
    for (const run of ['all', 'last', 'none'] as const) {
      expect(decided({ run, within: WEEK }, '2026-01-01T03:00:00Z', '2026-01-01T03:59:59Z')).toEqual([
        null,
        null,
      ]);
    }
  });

  it('are run in time, however it is configured', () => {
    for (const run of ['all', 'last', 'none'] as const) {
      expect(decided({ run, within: WEEK }, '2026-01-01T03:00:00Z', '2026-01-01T04:00:05Z')).toEqual([
        null,
        '01-01T04:00',
      ]);
    }
  });

  it('are all run, the oldest first', () => {
    expect(decided({ run: 'all', within: WEEK }, '2026-01-01T03:00:00Z', '2026-01-01T09:30:00Z')).toEqual([
      null,
      '01-01T04:00',
    ]);
  });

  it('are run as far as they are not too old', () => {
    expect(decided({ run: 'all', within: 7200 }, '2026-01-01T03:00:00Z', '2026-01-01T09:30:00Z')).toEqual([
      '01-01T07:00',
      '01-01T08:00',
    ]);
    expect(decided({ run: 'last', within: 600 }, '2026-01-01T03:00:00Z', '2026-01-01T09:30:00Z')).toEqual([
      '01-01T09:00',
      null,
    ]);
  });

  it('are run up to the last limit exactly', () => {
    expect(decided({ run: 'last', within: 1800 }, '2026-01-01T03:00:00Z', '2026-01-01T09:30:00Z')[1]).toBe(
      '01-01T09:00',
    );
  });

  it('are run once, for the newest', () => {
    expect(decided({ run: 'last', within: WEEK }, '2026-01-01T03:00:00Z', '2026-01-01T09:30:00Z')).toEqual([
      '01-01T08:00',
      '01-01T09:00',
    ]);
  });

  it('are not run at all', () => {
    expect(decided({ run: 'none', within: WEEK }, '2026-01-01T03:00:00Z', '2026-01-01T09:30:00Z')).toEqual([
      '01-01T09:00',
      null,
    ]);
  });

  it('are none where the clock went back', () => {
    expect(decided({ run: 'all', within: WEEK }, '2026-01-01T09:00:00Z', '2026-01-01T03:30:00Z')).toEqual([
      null,
      null,
    ]);
  });
});
