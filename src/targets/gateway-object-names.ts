import type { StreamEntry } from '../domain/investigation/deed.ts';

/** The kinds whose names matter: actors in a chain, and objects that people know by name. */
const NAMED: ReadonlySet<string> = new Set(['user', 'o_auth2_application', 'organization', 'team']);

/** How many entries are named at a time. */
const BATCH = 200;

/** Reads the current names of objects; null for a kind that cannot be listed. */
type ReadNames = (
  kind: string,
  ids: readonly number[],
) => Promise<ReadonlyMap<number, { readonly name: string | null }> | null>;

/** Names the objects of a gateway's entries, whose changes contain only the id. A deleted user's name is the id. */
export class GatewayObjectNames {
  readonly #read: ReadNames;
  readonly #known = new Map<string, string | null>();

  constructor(read: ReadNames) {
    this.#read = read;
  }

  /** The same entries in the same order, in batches. */
  async *named(
    entries: AsyncIterable<StreamEntry> | Iterable<StreamEntry>,
  ): AsyncGenerator<StreamEntry, void> {
    let batch: StreamEntry[] = [];
    for await (const entry of entries) {
      batch.push(entry);
      if (batch.length < BATCH) continue;
      yield* await this.#name(batch);
      batch = [];
    }
    yield* await this.#name(batch);
  }

  async #name(batch: readonly StreamEntry[]): Promise<readonly StreamEntry[]> {
    const unknown = new Map<string, Set<number>>();
    for (const { links } of batch) {
      for (const [kind, objects] of links) {
        for (const { id, name } of objects) {
          if (name !== null || !NAMED.has(kind) || this.#known.has(`${kind}:${id}`)) continue;
          unknown.set(kind, (unknown.get(kind) ?? new Set()).add(id));
        }
      }
    }
    for (const [kind, ids] of unknown) {
      const found = await this.#read(kind, [...ids]);
      for (const id of ids) this.#known.set(`${kind}:${id}`, found?.get(id)?.name ?? null);
    }
    return batch.map((entry) => ({ ...entry, links: this.#namedLinks(entry.links) }));
  }

  #namedLinks(links: StreamEntry['links']): StreamEntry['links'] {
    const nameOf = (kind: string, id: number) =>
      this.#known.get(`${kind}:${id}`) ?? (kind === 'user' ? `user ${id}` : null);
    return new Map(
      [...links].map(([kind, objects]) => [
        kind,
        objects.map(({ id, name }) => ({ id, name: name ?? nameOf(kind, id) })),
      ]),
    );
  }
}
