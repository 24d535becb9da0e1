import fc from 'fast-check';
import { expect, test } from 'vitest';
import { HashCounter, IdSet, textHash } from '../../../src/domain/compact-collections.ts';

test('a counter counts as a map does, across its growth', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 2000 }), { maxLength: 3000 }), (numbers) => {
      const counter = new HashCounter();
      const map = new Map<number, number>();
      for (const number of numbers) {
        const hash = textHash(String(number));
        map.set(hash, (map.get(hash) ?? 0) + 1);
        expect(counter.add(hash)).toBe(map.get(hash));
      }
      expect(counter.size).toBe(map.size);
      for (const [hash, count] of map) expect(counter.count(hash)).toBe(count);
      expect(counter.count(textHash('absent'))).toBe(0);
    }),
    { numRuns: 30 },
  );
});

test('a set of ids holds what a set holds', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.maxSafeNat()), fc.maxSafeNat(), (ids, other) => {
      const set = new IdSet();
      for (const id of ids) set.add(id);
      expect(ids.every((id) => set.has(id))).toBe(true);
      expect(set.has(other)).toBe(ids.includes(other));
    }),
  );
});

test('half a million texts have as many hashes', () => {
  const hashes = new Set<number>();
  for (let index = 0; index < 500_000; index += 1) hashes.add(textHash(`token:${index}`));
  expect(hashes.size).toBe(500_000);
  expect(Math.max(...[...hashes].slice(0, 1000))).toBeLessThanOrEqual(Number.MAX_SAFE_INTEGER);
  expect(textHash('a', 1)).not.toBe(textHash('a', 2));
});
