import { expect, test } from 'vitest';
import { Rows } from '../../../src/domain/rows.ts';

/** Pages of numbers, which notes what was asked for. */
function noting(asked: string[], name: string, ...pages: readonly (readonly number[])[]): Rows<number> {
  const pending = pages.values();
  return new Rows(() => {
    asked.push(name);
    return Promise.resolve(pending.next().value ?? null);
  });
}

test('rows come in order one by one, whatever the pages are, and an empty page ends nothing', async () => {
  expect(await Array.fromAsync(noting([], 'a', [1, 2], [], [3]))).toEqual([1, 2, 3]);
});

test('of several in turn, none is asked for before those ahead of it have ended', async () => {
  const asked: string[] = [];
  const all = Rows.inTurn([noting(asked, 'a', [1], [2]), noting(asked, 'b'), noting(asked, 'c', [3])]);
  expect(await all.next()).toEqual([1]);
  expect(asked).toEqual(['a']);
  expect(await Array.fromAsync(all)).toEqual([2, 3]);
  expect(asked).toEqual(['a', 'a', 'a', 'b', 'c', 'c']);
  expect(await all.next()).toBeNull();
});

test('what is made once is not made before it is asked for, nor again', async () => {
  let made = 0;
  const rows = Rows.once(() => [++made]).map((page) => page.map(String));
  expect(made).toBe(0);
  expect([await rows.next(), await rows.next(), made]).toEqual([['1'], null, 1]);
});

test('a failure comes at its place, after the rows before it', async () => {
  async function* failing(): AsyncIterable<readonly number[]> {
    yield [1, 2];
    throw new Error('gone');
  }
  const seen: number[] = [];
  await expect(Rows.from(failing()).each((page) => seen.push(...page))).rejects.toThrow('gone');
  expect(seen).toEqual([1, 2]);
});

test('rows that come one by one are pages of one; those in pages stay as they are', async () => {
  async function* single(): AsyncIterable<number> {
    yield* [1, 2];
  }
  expect(await Array.fromAsync(Rows.of(single()).pages())).toEqual([[1], [2]]);
  const rows = noting([], 'a', [1, 2]);
  expect(Rows.of(rows)).toBe(rows);
});
