import { createHash } from 'node:crypto';

/** Pseudo-random choices: the same for the same seed, on every machine. */
export interface Choices {
  /** A number from 0 up to, but not including, 1. */
  fraction(): number;
  /** A whole number from `from` to `to`, inclusive. */
  between(from: number, to: number): number;
  of<T>(several: readonly T[]): T;
  /** True with this probability. */
  chance(probability: number): boolean;
}

/** Makes {@link Choices} from the SHA-256 of the seed and a counter. Never use it for secrets. */
export function choices(seed: string): Choices {
  let count = 0;
  let block = Buffer.alloc(0);
  const fraction = () => {
    if (block.length < 4) block = createHash('sha256').update(`${seed}:${count++}`).digest();
    const value = block.readUInt32BE(0);
    block = block.subarray(4);
    return value / 2 ** 32;
  };
  return {
    fraction,
    between: (from, to) => from + Math.floor(fraction() * (to - from + 1)),
    of<T>(several: readonly T[]): T {
      const chosen = several[Math.floor(fraction() * several.length)];
      if (chosen === undefined) throw new Error('cannot choose from an empty list');
      return chosen;
    },
    chance: (probability) => fraction() < probability,
  };
}
