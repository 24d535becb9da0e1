import type { Tally } from './plan.ts';

/** Counts by name. */
export class Counted {
  readonly #counts = new Map<string, { readonly name: string; count: number }>();

  /** Counts one more. @returns The name, the same string every time. */
  add(name: string): string {
    const known = this.#counts.get(name);
    if (known === undefined) {
      this.#counts.set(name, { name, count: 1 });
      return name;
    }
    known.count += 1;
    return known.name;
  }

  /** The largest first, then by name. */
  tallies(): Tally[] {
    return Array.from(this.#counts.values(), ({ name, count }) => ({ name, count })).sort(
      (a, b) => b.count - a.count || (a.name < b.name ? -1 : 1),
    );
  }
}
