import { createHash } from 'node:crypto';

/** How much is allowed. */
export interface Allowance {
  /** So many at once. */
  readonly burst: number;
  /** After that, one in so many seconds. */
  readonly refillSeconds: number;
  /** So many keys are remembered at the most; the one not used for longest is forgotten first. */
  readonly keys?: number;
}

const MOST_KEYS = 50_000;

/** Token buckets by key. What a key was is not kept, only a digest of it: a name may be long, or a password typed into the wrong field. */
export class Buckets {
  readonly #allowance: Allowance;
  readonly #clock: () => number;
  readonly #buckets = new Map<string, { left: number; at: number }>();

  /** @param clock Milliseconds that never go back. */
  constructor(allowance: Allowance, clock: () => number) {
    this.#allowance = allowance;
    this.#clock = clock;
  }

  /** How many keys are remembered. */
  get size(): number {
    return this.#buckets.size;
  }

  /** Seconds until one may be taken: 0 where it may be taken now. */
  wait(key: string): number {
    const { left } = this.#level(digest(key));
    return left >= 1 ? 0 : (1 - left) * this.#allowance.refillSeconds;
  }

  /** How many were taken and not filled up again by now. */
  taken(key: string): number {
    return this.#allowance.burst - this.#level(digest(key)).left;
  }

  /**
   * Takes one, or what is left: a bucket is never less than empty, so that insisting does not make it longer.
   *
   * @returns How much was taken, to be given back.
   */
  take(key: string): number {
    const name = digest(key);
    const { left, at } = this.#level(name);
    const taken = Math.min(1, left);
    this.#put(name, { left: left - taken, at });
    return taken;
  }

  /** Puts back what was taken. */
  giveBack(key: string, taken: number): void {
    const name = digest(key);
    const { left, at } = this.#level(name);
    this.#put(name, { left: Math.min(this.#allowance.burst, left + taken), at });
  }

  /** Fills it up. */
  forget(key: string): void {
    this.#buckets.delete(digest(key));
  }

  #put(name: string, level: { left: number; at: number }): void {
    this.#buckets.delete(name);
    this.#buckets.set(name, level);
    if (this.#buckets.size <= (this.#allowance.keys ?? MOST_KEYS)) return;
    const oldest = this.#buckets.keys().next();
    if (!oldest.done) this.#buckets.delete(oldest.value);
  }

  #level(name: string): { left: number; at: number } {
    const at = this.#clock();
    const bucket = this.#buckets.get(name);
    const { burst, refillSeconds } = this.#allowance;
    if (bucket === undefined) return { left: burst, at };
    return { left: Math.min(burst, bucket.left + (at - bucket.at) / 1000 / refillSeconds), at };
  }
}

function digest(key: string): string {
  return createHash('sha256').update(key).digest('base64url').slice(0, 22);
}
