/** Who waits for what a key names. */
interface Waiting<V> {
  readonly resolve: (value: V | null) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Looks things up by key, those that are asked for at the same moment with one statement. It remembers
 * nothing: a key is looked up after it was asked for, so that what was revoked or changed before holds.
 */
export class TickLookup<V> {
  readonly #ask: (keys: readonly string[]) => Promise<ReadonlyMap<string, V>>;
  #waiting = new Map<string, Waiting<V>[]>();

  /** @param ask Looks several keys up; those that it leaves out are answered with null. */
  constructor(ask: (keys: readonly string[]) => Promise<ReadonlyMap<string, V>>) {
    this.#ask = ask;
  }

  /** What a key names, or null. */
  find(key: string): Promise<V | null> {
    if (this.#waiting.size === 0) setImmediate(() => this.#answer());
    return new Promise((resolve, reject) => {
      const waiting = this.#waiting.get(key) ?? [];
      waiting.push({ resolve, reject });
      this.#waiting.set(key, waiting);
    });
  }

  async #answer(): Promise<void> {
    const asked = this.#waiting;
    this.#waiting = new Map();
    try {
      const found = await this.#ask([...asked.keys()]);
      for (const [key, waiting] of asked) {
        for (const { resolve } of waiting) resolve(found.get(key) ?? null);
      }
    } catch (error) {
      for (const { reject } of [...asked.values()].flat()) reject(error);
    }
  }
}
