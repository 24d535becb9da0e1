/** Rows of one block: whole blocks are kept, where one growing array would be copied again and again. */
const BLOCK = 32_768;

/**
 * Ids and the names of their owners, side by side: two arrays instead of an object for each, and every name
 * once. Meant for millions.
 */
export class OwnedIds {
  readonly #blocks: { readonly ids: number[]; readonly owners: string[] }[] = [];
  #last = 0;
  #ascending = true;

  /** @param owner A name of which the same string is given every time, so that it is held once. */
  add(id: number, owner: string): void {
    let block = this.#blocks.at(-1);
    if (block === undefined || block.ids.length === BLOCK) {
      block = { ids: [], owners: [] };
      this.#blocks.push(block);
    }
    block.ids.push(id);
    block.owners.push(owner);
    if (id < this.#last) this.#ascending = false;
    this.#last = id;
  }

  /** All of them, ascending by id; `owners[i]` owns `ids[i]`. */
  sorted(): { readonly ids: readonly number[]; readonly owners: readonly string[] } {
    const ids = this.#blocks.flatMap((block) => block.ids);
    const owners = this.#blocks.flatMap((block) => block.owners);
    if (this.#ascending) return { ids, owners };
    const order = Uint32Array.from(ids.keys()).sort((a, b) => (ids[a] ?? 0) - (ids[b] ?? 0));
    return {
      ids: Array.from(order, (index) => ids[index] ?? 0),
      owners: Array.from(order, (index) => owners[index] ?? ''),
    };
  }
}
