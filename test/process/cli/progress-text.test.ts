import { describe, expect, test } from 'vitest';
import { progressText } from '../../../src/cli/output/streams.ts';

const progress = { done: 1234, total: 4000, failed: 7 };
const frame = { verb: 'Revoking', seconds: 2 };

describe('a line of progress', () => {
  test('shows all where there is room', () => {
    expect(progressText(progress, { ...frame, columns: 120 })).toBe(
      `Revoking ${'█'.repeat(7)}${'░'.repeat(17)} 1,234 of 4,000, 7 failed, 617 per second`,
    );
  });

  test('gives up the rate first, then the bar', () => {
    expect(progressText(progress, { ...frame, columns: 60 })).toBe(
      `Revoking ${'█'.repeat(7)}${'░'.repeat(17)} 1,234 of 4,000, 7 failed`,
    );
    expect(progressText(progress, { ...frame, columns: 46 })).toMatch(
      /^Revoking █+░+ 1,234 of 4,000, 7 failed$/,
    );
    expect(progressText(progress, { ...frame, columns: 38 })).toBe('Revoking 1,234 of 4,000, 7 failed');
  });

  test('never fills a line, which would wrap it', () => {
    for (let columns = 1; columns <= 120; columns += 1) {
      expect(progressText(progress, { ...frame, columns }).length).toBeLessThan(columns);
    }
  });
});
