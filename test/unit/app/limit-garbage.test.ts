import { getHeapStatistics } from 'node:v8';
import { expect, onTestFinished, test, vi } from 'vitest';
import { limitGarbage } from '../../../src/app/open-target.ts';

/** How much the heap grew at most while much garbage was made and little kept, in MB. V8 alone lets it grow to some 150. */
async function growth(): Promise<number> {
  const before = getHeapStatistics().used_heap_size;
  const kept: object[][] = [];
  let most = 0;
  for (let round = 0; round < 25; round++) {
    kept.push(Array.from({ length: 200_000 }, (_, index) => ({ index })));
    if (kept.length > 2) kept.shift();
    most = Math.max(most, getHeapStatistics().used_heap_size - before);
    // A look, and a wait in which garbage is collected.
    vi.advanceTimersByTime(50);
    await new Promise(setImmediate);
  }
  return most / 1e6;
}

test('garbage is collected before there is much of it', { tags: ['long'] }, async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  using _limit = limitGarbage();
  expect(await growth()).toBeLessThan(110);
});
