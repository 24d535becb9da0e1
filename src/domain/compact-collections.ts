/** Ids that share one block: 4 KiB of bits. */
const BLOCK = 32_768;

/** A set of ids, as bits: the ids of a million rows take a few hundred KiB, wherever they begin. */
export class IdSet {
  readonly #blocks = new Map<number, Uint32Array>();

  /** @param id A whole number from 0 on. */
  add(id: number): void {
    const number = Math.floor(id / BLOCK);
    let block = this.#blocks.get(number);
    if (block === undefined) {
      block = new Uint32Array(BLOCK / 32);
      this.#blocks.set(number, block);
    }
    const bit = id % BLOCK;
    block[bit >>> 5] = (block[bit >>> 5] ?? 0) | (1 << (bit & 31));
  }

  has(id: number): boolean {
    const block = this.#blocks.get(Math.floor(id / BLOCK));
    if (block === undefined) return false;
    const bit = id % BLOCK;
    return ((block[bit >>> 5] ?? 0) & (1 << (bit & 31))) !== 0;
  }
}
