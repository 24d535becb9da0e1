import type { Queryable } from '../../db/database.ts';
import type { ApplicationReference, UserReference } from '../../domain/token.ts';

/** The names of users or applications by their ids, as {@link References} looks them up. */
type Lookup<Reference> = (database: Queryable, ids: readonly number[]) => Promise<readonly Reference[]>;

/**
 * Users or applications by id, each looked up once and then shared by all that refer to it: a million
 * tokens have few owners, and sending their names along with each would cost more than the rest.
 */
export class References<Reference extends UserReference | ApplicationReference> {
  readonly #known = new Map<number, Reference | null>();
  readonly #lookup: Lookup<Reference>;

  constructor(lookup: Lookup<Reference>) {
    this.#lookup = lookup;
  }

  /** Looks up those that are not known yet. */
  async learn(database: Queryable, ids: Iterable<number | null>): Promise<void> {
    const unknown = new Set<number>();
    for (const id of ids) if (id !== null && !this.#known.has(id)) unknown.add(id);
    if (unknown.size === 0) return;
    for (const reference of await this.#lookup(database, [...unknown])) {
      this.#known.set(reference.id, reference);
      unknown.delete(reference.id);
    }
    for (const id of unknown) this.#known.set(id, null);
  }

  /** The one with this id; null without an id, and where its row is gone. */
  of(id: number | null): Reference | null {
    return id === null ? null : (this.#known.get(id) ?? null);
  }
}
