import { describe, expect, it } from 'vitest';
import { StoredVariables, storedVariables } from '../../src/service/resources/stored-variables.ts';

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

/** A host's variables with about 1,000 characters. */
const KILOBYTE = Array.from({ length: 100 }, (_, n) => `key${n}: 1`).join('\n');

describe('the variables of many hosts', () => {
  it('let other requests in between', async () => {
    let turns = 0;
    let isDone = false;
    const others = (async () => {
      for (; !isDone; turns += 1) await nextTurn();
    })();
    const stored = new StoredVariables();
    for (let host = 0; host < 50; host += 1) expect(await stored.read(KILOBYTE)).toHaveProperty('key99', 1);
    isDone = true;
    await others;
    expect(turns).toBeGreaterThan(25);
  });

  it('are refused where they are too long together, however many there are', async () => {
    const stored = new StoredVariables(2 * KILOBYTE.length);
    expect(await stored.read(KILOBYTE)).toHaveProperty('key0', 1);
    expect(await stored.read(KILOBYTE)).toEqual(storedVariables(KILOBYTE));
    await expect(stored.read('a: 1')).rejects.toMatchObject({ status: 400 });
  });
});
