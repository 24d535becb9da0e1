import { objectText, UNRECORDED_WAY_IN } from '../../domain/investigation/collect-items.ts';
import { changeOf, isSameActor, type StreamEntry } from '../../domain/investigation/deed.ts';
import type { Actor, InvestigationItem, ObjectReference } from '../../domain/investigation/investigation.ts';
import { nounOf, nounsOf } from '../../domain/investigation/kinds.ts';
import { referenceId } from '../../domain/investigation/recorded-values.ts';

/** How the chain's entries change an inventory's count of one kind of object. */
interface Count {
  readonly kind: string;
  readonly inventory: number;
  /** How far the count grew beyond what entries about the objects themselves explain. */
  more: number;
  readonly seen: {
    readonly entry: number;
    readonly at: Date;
    readonly by: Actor;
    readonly name: string | null;
  }[];
}

/** The counters of an inventory, with the kind of object they count. */
const COUNTED: Readonly<Record<string, string>> = {
  total_hosts: 'host',
  total_groups: 'group',
  total_inventory_sources: 'inventory_source',
};
const KINDS = Object.values(COUNTED);

/**
 * The numbers of hosts, groups and sources that a controller counted in requests of the chain. A request that
 * creates hosts in bulk leaves no entry for a host and no author in its row [seen on 24.6.1]: the inventory's
 * count is its only trace.
 */
export class InventoryCounts {
  readonly #counts = new Map<string, Count>();

  /** Adds an actor's entry if it reports or explains such a count. */
  add({ id: entry, at, object1, operation, changes, links }: StreamEntry, by: Actor): void {
    if (object1 === 'inventory' && operation === 'update') {
      const [inventory] = links.get('inventory') ?? [];
      for (const [field, kind] of Object.entries(COUNTED)) {
        const [before, after] = changeOf(changes[field]) ?? [];
        if (typeof before !== 'number' || typeof after !== 'number' || inventory === undefined) continue;
        this.#add(kind, inventory.id, after - before)?.seen.push({ entry, at, by, name: inventory.name });
      }
    }
    if (!KINDS.includes(object1)) return;
    const { inventory: place } = changes;
    const [from, to] = changeOf(place) ?? (operation === 'delete' ? [place, null] : [null, place]);
    // A deletion here may hide a creation there.
    this.#add(object1, referenceId(from), 1);
    this.#add(object1, referenceId(to), -1);
  }

  #add(kind: string, inventory: number | null, more: number): Count | undefined {
    if (inventory === null) return undefined;
    const key = `${kind}:${inventory}`;
    const count = this.#counts.get(key) ?? { kind, inventory, more: 0, seen: [] };
    count.more += more;
    this.#counts.set(key, count);
    return count;
  }

  /** An item for each inventory with more objects than the chain's entries explain. */
  items(): readonly InvestigationItem[] {
    return [...this.#counts.values()].flatMap((count) => {
      const [first] = count.seen;
      return count.more > 0 && first !== undefined ? [itemOf(count, first)] : [];
    });
  }
}

function itemOf({ kind, inventory, more, seen }: Count, { name }: Count['seen'][number]): InvestigationItem {
  const object: ObjectReference = { kind: 'inventory', id: inventory, name };
  const times = seen.map(({ at }) => at.getTime());
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const since = new Date(first - 60_000).toISOString();
  const list = `/api/v2/inventories/${inventory}/${kind}s/?created__gte=${since}`;
  const by = seen.map((each) => each.by);
  return {
    ...UNRECORDED_WAY_IN,
    id: `inventory:${inventory}:${kind}s`,
    group: 'code_later',
    act: 'changed',
    object,
    summary: `${more} more ${more === 1 ? nounOf(kind) : nounsOf(kind)} in the ${objectText(object)} than the entries explain`,
    by: by.filter((each, index) => by.findIndex((other) => isSameActor(other, each)) === index),
    first: new Date(first).toISOString(),
    last: new Date(last).toISOString(),
    entries: seen.slice(0, 100).map(({ entry }) => entry),
    entryCount: seen.length,
    state: 'unknown',
    stateReason: `Not checked: ${nounsOf(kind)} that are created in bulk have no entry and no creator.`,
    findings: [
      {
        rule: 'uncounted-hosts',
        severity: 'high',
        message: `Later jobs use these ${nounsOf(kind)}, with the job's credentials.`,
      },
    ],
    risk: 'high',
    remedy: { kind: 'manual', text: `List the ${nounsOf(kind)} (GET ${list}), and delete unknown ones.` },
  };
}
