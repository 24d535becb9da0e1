/** Share of the places that may be taken before the table grows. */
const FULLEST = 0.6;
const FIRST_PLACES = 1024;

/**
 * Counts how often each of many numbers came, in 12 bytes a place: a table with open addressing. For
 * millions of hashes, where a Map of objects would not stay small.
 */
export class HashCounter {
  #keys = new Float64Array(FIRST_PLACES);
  #counts = new Uint32Array(FIRST_PLACES);
  #size = 0;

  /** How many different numbers came. */
  get size(): number {
    return this.#size;
  }

  /**
   * Counts a number.
   *
   * @param hash A safe integer, well spread.
   * @returns how often it came by now, this time included
   */
  add(hash: number): number {
    const place = this.#placeOf(hash);
    const count = (this.#counts[place] ?? 0) + 1;
    this.#counts[place] = count;
    if (count === 1) {
      this.#keys[place] = hash;
      this.#size += 1;
      if (this.#size > this.#keys.length * FULLEST) this.#grow();
    }
    return count;
  }

  /** How often a number came. */
  count(hash: number): number {
    return this.#counts[this.#placeOf(hash)] ?? 0;
  }

  /** Where a number is, or would be put. */
  #placeOf(hash: number): number {
    const last = this.#keys.length - 1;
    let place = ((hash % 4_294_967_296) >>> 0) & last;
    while (this.#counts[place] !== 0 && this.#keys[place] !== hash) place = (place + 1) & last;
    return place;
  }

  #grow(): void {
    const keys = this.#keys;
    const counts = this.#counts;
    this.#keys = new Float64Array(keys.length * 2);
    this.#counts = new Uint32Array(keys.length * 2);
    keys.forEach((key, index) => {
      const count = counts[index] ?? 0;
      if (count === 0) return;
      const place = this.#placeOf(key);
      this.#keys[place] = key;
      this.#counts[place] = count;
    });
  }
}
