import { type ItemDraft, objectText, UNRECORDED_WAY_IN } from '../../domain/investigation/collect-items.ts';
import { changeOf, isSameActor, type StreamEntry } from '../../domain/investigation/deed.ts';
import type { Actor, InvestigationItem, ObjectReference } from '../../domain/investigation/investigation.ts';
import { referenceId } from '../../domain/investigation/recorded-values.ts';

/** What entries of the chain say of the number of hosts of an inventory. */
interface Count {
  readonly object: ObjectReference & { readonly id: number };
  more: number;
  readonly by: Actor[];
  readonly entries: number[];
  readonly first: Date;
  last: Date;
}

/**
 * The numbers of hosts that a controller counted in requests of the chain. A request that makes hosts in bulk leaves no entry of a host
 * and no maker in its row [seen of 24.6.1]: the count of the inventory is its only trace.
 */
export class HostCounts {
  readonly #byInventory = new Map<number, Count>();

  /** Notes an entry of an actor, where it is about such a number. */
  add({ id: entry, at, object1, operation, changes, links }: StreamEntry, actor: Actor): void {
    if (object1 !== 'inventory' || operation !== 'update') return;
    const [before, after] = changeOf(changes['total_hosts']) ?? [];
    const inventory = links.get('inventory')?.[0];
    if (typeof before !== 'number' || typeof after !== 'number' || inventory === undefined) return;
    const object = { kind: 'inventory', ...inventory };
    const known = this.#byInventory.get(inventory.id);
    const count = known ?? { object, more: 0, by: [], entries: [], first: at, last: at };
    if (known === undefined) this.#byInventory.set(inventory.id, count);
    count.more += after - before;
    if (at > count.last) count.last = at;
    if (count.entries.length < 100) count.entries.push(entry);
    if (!count.by.some((each) => isSameActor(each, actor))) count.by.push(actor);
  }

  /** An item for each inventory that has more hosts than the entries of the chain explain. */
  items(drafts: readonly ItemDraft[]): readonly InvestigationItem[] {
    return [...this.#byInventory.values()].flatMap((count) => {
      const made = drafts.filter(
        ({ object, act, changes }) =>
          object.kind === 'host' &&
          act === 'made' &&
          referenceId(changes.get('inventory')?.after) === count.object.id,
      );
      return count.more > made.length ? [itemOf(count, count.more - made.length)] : [];
    });
  }
}

function itemOf({ object, by, entries, first, last }: Count, more: number): InvestigationItem {
  const hosts = `${more} ${more === 1 ? 'host' : 'hosts'}`;
  const since = new Date(first.getTime() - 60_000).toISOString();
  const list = `/api/v2/inventories/${object.id}/hosts/?created__gte=${since}`;
  return {
    ...UNRECORDED_WAY_IN,
    id: `inventory:${object.id}:hosts`,
    group: 'code_later',
    act: 'changed',
    object,
    summary: `${hosts} more in the ${objectText(object)} than entries explain`,
    by,
    first: first.toISOString(),
    last: last.toISOString(),
    entries,
    entryCount: entries.length,
    state: 'unknown',
    stateReason: 'Not checked: hosts that are made in bulk have no entry and no maker.',
    findings: [
      {
        rule: 'uncounted-hosts',
        severity: 'high',
        message: 'Later jobs run on these hosts, with the credentials of the job.',
      },
    ],
    risk: 'high',
    remedy: { kind: 'manual', text: `List the hosts (GET ${list}), and delete those that are unknown.` },
  };
}
