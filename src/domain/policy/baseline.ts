import { HashCounter } from '../hash-counter.ts';
import { textHash } from '../text-hash.ts';

/**
 * Findings that are known already, by their keys: those do not count. Kept as hashes of 53 bits, so that a
 * million of them take little memory; that a new finding is taken for a known one has a chance of one in ten
 * thousand million then.
 */
export class Baseline {
  readonly #keys = new HashCounter();

  /** @param key As of `findingKey`. */
  add(key: string): void {
    this.#keys.add(textHash(key));
  }

  has(key: string): boolean {
    return this.#keys.count(textHash(key)) > 0;
  }

  /** How many findings it knows. */
  get size(): number {
    return this.#keys.size;
  }
}
