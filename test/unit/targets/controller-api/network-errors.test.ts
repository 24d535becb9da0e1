import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { retryDelay } from '../../../../src/targets/controller-api/network-errors.ts';

const now = Date.parse('2026-11-20T10:00:00Z');

describe('retryDelay', () => {
  test('doubles with each attempt, with jitter of up to half', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 6 }), (attempt) => {
        const pause = retryDelay(attempt) ?? 0;
        expect(pause).toBeGreaterThanOrEqual(100 * 2 ** (attempt - 1));
        expect(pause).toBeLessThanOrEqual(200 * 2 ** (attempt - 1));
      }),
    );
  });

  test.each([
    ['seconds', '7', 7000],
    ['a date', 'Fri, 20 Nov 2026 10:00:07 GMT', 7000],
    ['a past date', 'Fri, 20 Nov 2026 09:00:00 GMT', 0],
    ['an invalid value', 'soon', 0],
    ['no header', undefined, 0],
  ])('waits at least as long as Retry-After: %s', (_, retryAfter, asked) => {
    const pause = retryDelay(1, retryAfter, now) ?? 0;
    expect(pause).toBeGreaterThanOrEqual(asked);
    expect(pause).toBeLessThanOrEqual(asked + 200);
  });

  test('gives up if Retry-After is longer than a minute', () => {
    expect(retryDelay(1, '61', now)).toBeNull();
    expect(retryDelay(1, 'Fri, 20 Nov 2026 11:00:00 GMT', now)).toBeNull();
    expect(retryDelay(1, '60', now)).not.toBeNull();
  });
});
