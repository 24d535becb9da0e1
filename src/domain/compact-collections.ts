/** Ids that share one block: 4 KiB of bits. */
const BITS_PER_BLOCK = 32_768;

/** A set of ids as a bitmap: the ids of a million rows take a few hundred KiB, wherever they start. */
export class IdSet {
  readonly #blocks = new Map<number, Uint32Array>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** @param id An integer of at least 0. */
  add(id: number): void {
    const number = Math.floor(id / BITS_PER_BLOCK);
    let block = this.#blocks.get(number);
    if (block === undefined) {
      block = new Uint32Array(BITS_PER_BLOCK / 32);
      this.#blocks.set(number, block);
    }
    const bit = id % BITS_PER_BLOCK;
    const bits = block[bit >>> 5] ?? 0;
    if ((bits & (1 << (bit & 31))) === 0) this.#size += 1;
    block[bit >>> 5] = bits | (1 << (bit & 31));
  }

  has(id: number): boolean {
    const block = this.#blocks.get(Math.floor(id / BITS_PER_BLOCK));
    if (block === undefined) return false;
    const bit = id % BITS_PER_BLOCK;
    return ((block[bit >>> 5] ?? 0) & (1 << (bit & 31))) !== 0;
  }
}

/** Rows per block. Blocks are never copied, unlike one growing array. */
const ROWS_PER_BLOCK = 32_768;

/** Ids with their owners' names: two arrays instead of objects, and each name stored once. */
export class OwnedIds {
  readonly #blocks: { readonly ids: number[]; readonly owners: string[] }[] = [];
  #last = 0;
  #ascending = true;

  /** @param owner A name; pass the same string each time, so that it is stored once. */
  add(id: number, owner: string): void {
    let block = this.#blocks.at(-1);
    if (block === undefined || block.ids.length === ROWS_PER_BLOCK) {
      block = { ids: [], owners: [] };
      this.#blocks.push(block);
    }
    block.ids.push(id);
    block.owners.push(owner);
    if (id < this.#last) this.#ascending = false;
    this.#last = id;
  }

  /** Removes all entries and returns them, ascending by id; `owners[i]` owns `ids[i]`. */
  takeSorted(): { readonly ids: readonly number[]; readonly owners: readonly string[] } {
    const length = this.#blocks.reduce((sum, block) => sum + block.ids.length, 0);
    // Allocated at full length, and each block freed once copied: otherwise three copies exist at a time.
    const ids = new Array<number>(length);
    const owners = new Array<string>(length);
    let next = 0;
    for (let block = this.#blocks.shift(); block !== undefined; block = this.#blocks.shift()) {
      for (let index = 0; index < block.ids.length; index++, next++) {
        ids[next] = block.ids[index] ?? 0;
        owners[next] = block.owners[index] ?? '';
      }
    }
    if (this.#ascending) return { ids, owners };
    const order = Uint32Array.from(ids.keys()).sort((a, b) => (ids[a] ?? 0) - (ids[b] ?? 0));
    return {
      ids: Array.from(order, (index) => ids[index] ?? 0),
      owners: Array.from(order, (index) => owners[index] ?? ''),
    };
  }
}

/** The maximum load factor of the table before it grows. */
const MAX_LOAD = 0.6;
const INITIAL_CAPACITY = 1024;

/**
 * Counts how often each of many numbers occurred, in 12 bytes per slot, using a table with open addressing.
 * For millions of hashes, for which a Map of objects would be too large.
 */
export class HashCounter {
  #keys = new Float64Array(INITIAL_CAPACITY);
  #counts = new Uint32Array(INITIAL_CAPACITY);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Counts a number, a well-distributed safe integer; returns its count so far, including this one. */
  add(hash: number): number {
    const place = this.#placeOf(hash);
    const count = (this.#counts[place] ?? 0) + 1;
    this.#counts[place] = count;
    if (count === 1) {
      this.#keys[place] = hash;
      this.#size += 1;
      if (this.#size > this.#keys.length * MAX_LOAD) this.#grow();
    }
    return count;
  }

  count(hash: number): number {
    return this.#counts[this.#placeOf(hash)] ?? 0;
  }

  /** The slot of a number, or its free slot. */
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

/**
 * A hash of 53 bits for a text: two multiplicative hashes of 32 bits, mixed (like MurmurHash3's finalizer).
 * Fast, but not collision resistant: a random pair of texts collides with a probability of 1 in 2^53.
 */
export function textHash(text: string, seed = 0): number {
  let one = 0xdeadbeef ^ seed;
  let other = 0x41c6ce57 ^ seed;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    one = Math.imul(one ^ unit, 2_654_435_761);
    other = Math.imul(other ^ unit, 1_597_334_677);
  }
  one = Math.imul(one ^ (one >>> 16), 2_246_822_507) ^ Math.imul(other ^ (other >>> 13), 3_266_489_909);
  other = Math.imul(other ^ (other >>> 16), 2_246_822_507) ^ Math.imul(one ^ (one >>> 13), 3_266_489_909);
  return 2 ** 32 * (other & 0x1f_ffff) + (one >>> 0);
}
