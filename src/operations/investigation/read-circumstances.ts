import { TokenctlError } from '@tokenctl/common/errors.ts';
import { type ItemDraft, recordedValues } from '../../domain/investigation/collect-items.ts';
import { changeOf, type Deed, isSameActor, readDeed } from '../../domain/investigation/deed.ts';
import type { LaterChange } from '../../domain/investigation/investigation.ts';
import type { Existence, Since } from '../../domain/investigation/item-state.ts';
import type { FieldEdit } from '../../domain/investigation/value-parts.ts';
import type { CurrentObject, Evidence } from '../ports/evidence.ts';
import type { TargetDescription } from '../ports/target.ts';
import { PATIENCE } from '../ports/target-parts.ts';
import { ifReadable } from '../scope/known-settings.ts';
import type { FollowedChain } from './follow-chain.ts';
import type { SettingNames } from './setting-names.ts';

/** The maximum number of entries of other users to read. */
const MAX_LATER = 50_000;
const CONCURRENCY = 6;
/** The maximum number of later changes that an item names. */
const MAX_LATER_OF_ITEM = 20;
/** The maximum number of later changes of a field to compare with the actor's. */
const MAX_COMPARED = 50;

/** The current state of the items' objects, and who changed them since. */
interface Circumstances {
  /** The state of a draft's object. */
  readonly of: (draft: ItemDraft) => Since;
  /** Whether more was changed since than was read. */
  readonly isBounded: boolean;
  /** Object kinds whose entries the target refused to list: later changes by others are unknown. */
  readonly unread: readonly string[];
}

type Objects = ReadonlyMap<string, ReadonlyMap<number, CurrentObject> | null>;

/** Reads the current state of all items at once, and what others changed since. */
export async function readCircumstances(
  evidence: Evidence,
  found: {
    readonly drafts: readonly ItemDraft[];
    readonly chain: FollowedChain;
    readonly description: Pick<TargetDescription, 'visibility'>;
    readonly settingNames: SettingNames;
  },
): Promise<Circumstances> {
  const { drafts, chain, description, settingNames } = found;
  const open = drafts.filter(({ act, group }) => act !== 'deleted' && act !== 'removed' && group !== 'ran');
  const objects = await readObjects(evidence, open);
  const settings = await readSettings(evidence, open);
  const later = await readLater(evidence, { drafts: open, chain, settingNames });
  const ties = await readTies(evidence, { drafts: open, objects });
  const seesAll = description.visibility.kind === 'all';
  return {
    isBounded: later.isBounded,
    unread: later.unread,
    of: (draft) => ({
      now: withActivity(draft, existenceOf(draft, { objects, settings, ties, seesAll }), later.deeds),
      later: (later.deeds.get(keyOf(draft.object)) ?? [])
        .filter((deed) => concerns(draft, deed))
        .slice(0, MAX_LATER_OF_ITEM)
        .map(laterChange),
      between: (field, first, last) =>
        editsBetween(later.deeds.get(keyOf(draft.object)) ?? [], { field, first, last }),
    }),
  };
}

/** The changes of a field in entries between two others; null if there are too many to compare. */
function editsBetween(
  deeds: readonly Deed[],
  { field, first, last }: { field: string; first: number; last: number },
): readonly FieldEdit[] | null {
  const edits = deeds.flatMap(({ id, operation, object, changes }) => {
    const name = object.kind === 'setting' ? 'value' : field;
    if (id <= first || id >= last || !Object.hasOwn(changes, name)) return [];
    const values = recordedValues(operation, changes[name]);
    return values === null ? [] : [{ entry: id, last: id, before: values[0], after: values[1] }];
  });
  return edits.length > MAX_COMPARED ? null : edits;
}

async function readObjects(evidence: Evidence, drafts: readonly ItemDraft[]): Promise<Objects> {
  const ids = new Map<string, Set<number>>();
  for (const { object, other } of drafts) {
    for (const each of [object, other]) {
      if (each === null || each.id === null || each.kind === 'setting') continue;
      ids.set(each.kind, (ids.get(each.kind) ?? new Set()).add(each.id));
    }
  }
  const found = new Map<string, ReadonlyMap<number, CurrentObject> | null>();
  await eachOf([...ids], async ([kind, some]) => {
    found.set(kind, await evidence.objects(kind, [...some]));
  });
  return found;
}

async function readSettings(evidence: Evidence, drafts: readonly ItemDraft[]) {
  const names = drafts.flatMap(({ object }) =>
    object.kind === 'setting' && object.name !== null ? [object.name] : [],
  );
  return names.length === 0 ? new Map() : await ifReadable(evidence.settings([...new Set(names)], PATIENCE));
}

/** Whether roles are still held and links still exist, by item; null if unreadable. */
async function readTies(
  evidence: Evidence,
  { drafts, objects }: { drafts: readonly ItemDraft[]; objects: Objects },
): Promise<ReadonlyMap<string, boolean | null>> {
  const ties = new Map<string, boolean | null>();
  await eachOf(drafts, async ({ id, role, object, other, link }) => {
    const isGone = [object, other].some(
      (each) => each?.id != null && objects.get(each.kind)?.has(each.id) === false,
    );
    if (role === null && other === null) return;
    if (isGone) ties.set(id, false);
    else if (role !== null) {
      const holder = object.id === null ? null : { kind: object.kind, id: object.id };
      ties.set(id, role.id === null || holder === null ? null : await evidence.hasRole(role.id, holder));
    } else if (other !== null) ties.set(id, await evidence.hasLink(link, object, other));
  });
  return ties;
}

function existenceOf(
  { id, object, other, role, act }: ItemDraft,
  found: {
    readonly objects: Objects;
    readonly settings: ReadonlyMap<string, unknown> | null;
    readonly ties: ReadonlyMap<string, boolean | null>;
    readonly seesAll: boolean;
  },
): Existence {
  if (act === 'deleted' || act === 'removed') return { kind: 'gone' };
  if (role !== null || other !== null) {
    const tie = found.ties.get(id) ?? null;
    if (tie === null) return { kind: 'unknown', why: 'Not checked: this context cannot list it.' };
    return tie ? { kind: 'exists', fields: {} } : { kind: 'gone' };
  }
  if (object.kind === 'setting') return settingExistence(object.name, found.settings);
  const all = found.objects.get(object.kind);
  if (all === null) return { kind: 'unknown', why: 'Not checked: this context cannot list it.' };
  const current = object.id === null ? undefined : all?.get(object.id);
  if (current !== undefined) return { kind: 'exists', fields: current.fields };
  if (found.seesAll) return { kind: 'gone' };
  return { kind: 'unknown', why: 'Not checked: deleted, or not visible to this account.' };
}

/** Over REST, a controller 24.6.1 does not say if a user is active: another user's last entry does. */
function withActivity(
  { object, changes }: ItemDraft,
  now: Existence,
  deeds: ReadonlyMap<string, readonly Deed[]>,
): Existence {
  if (object.kind !== 'user' || now.kind !== 'exists' || now.fields['is_active'] !== undefined) return now;
  const after = changes.get('is_active')?.lastEntry ?? 0;
  const last = deeds
    .get(keyOf(object))
    ?.findLast(
      ({ id, operation, changes: made }) => id > after && operation === 'update' && 'is_active' in made,
    );
  const value = changeOf(last?.changes['is_active'])?.[1];
  return value === undefined ? now : { kind: 'exists', fields: { ...now.fields, is_active: value } };
}

function settingExistence(name: string | null, settings: ReadonlyMap<string, unknown> | null): Existence {
  if (settings === null || name === null)
    return { kind: 'unknown', why: 'Not checked: the settings were not read.' };
  // A database has no row for a setting at its default.
  if (!settings.has(name)) return { kind: 'gone' };
  return { kind: 'exists', fields: { [name]: settings.get(name) } };
}

/** The entries about the objects of items by users outside the chain. */
async function readLater(
  evidence: Evidence,
  found: { drafts: readonly ItemDraft[]; chain: FollowedChain; settingNames: SettingNames },
): Promise<
  Pick<Circumstances, 'isBounded' | 'unread'> & { readonly deeds: ReadonlyMap<string, readonly Deed[]> }
> {
  const { drafts, chain, settingNames } = found;
  const byKind = Map.groupBy(drafts, ({ object }) => object.kind);
  const deeds = new Map<string, Deed[]>();
  const unread: string[] = [];
  let read = 0;
  // What a user did before joining the chain counts as another user's work.
  const from = Math.min(...chain.members.map(({ since }) => since.getTime()));
  const notBy = chain.members.flatMap(({ user, how, since }) =>
    user.id !== null && (how === 'made' || since.getTime() === from) ? [user.id] : [],
  );
  await eachOf([...byKind], async ([kind, items]) => {
    const ids = [...new Set(items.flatMap(({ object }) => (object.id === null ? [] : [object.id])))];
    const after = Math.min(...items.map(({ firstEntry }) => firstEntry)) - 1;
    // Entries that change a setting contain its name and have no id.
    if (ids.length === 0 && kind !== 'setting') return;
    const entries =
      kind === 'setting'
        ? evidence.settingEntries(after)
        : evidence.entriesAbout({ kind, ids, after, notBy, read: chain.tallies.of(kind) });
    try {
      for await (const entry of entries) {
        read += 1;
        if (read > MAX_LATER) return;
        const recorded = readDeed(entry);
        if (recorded === null || isByChain(recorded, chain)) continue;
        addTo(deeds, await settingNames.named(recorded));
      }
    } catch (error) {
      // Some kinds have no relation to entries, and a controller rejects the filter: an intruder chooses
      // which kinds are queried.
      if (!isRefused(error)) throw error;
      unread.push(kind);
    }
  });
  return { deeds, isBounded: read > MAX_LATER, unread };
}

/** Whether the target refused a single question, so that the others can still be asked. */
function isRefused(error: unknown): boolean {
  return (
    error instanceof TokenctlError && ['not_found', 'permission_refused', 'unsupported'].includes(error.code)
  );
}

function addTo(deeds: Map<string, Deed[]>, deed: Deed): void {
  for (const each of [deed.object, deed.other]) {
    if (each === null) continue;
    const others = deeds.get(keyOf(each));
    if (others === undefined) deeds.set(keyOf(each), [deed]);
    else others.push(deed);
  }
}

function isByChain({ actor, at }: Deed, { members }: FollowedChain): boolean {
  return actor !== null && members.some(({ user, since }) => isSameActor(user, actor) && at >= since);
}

/** Runs work for each item, with limited concurrency. */
async function eachOf<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const waiting = items.values();
  const worker = async () => {
    for (const item of waiting) await work(item);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
}

function keyOf({ kind, id, name }: Deed['object']): string {
  return kind === 'setting' ? `setting:${name}` : `${kind}:${id}`;
}

/** Whether an entry of another user changed the item after a change by the actor. */
function concerns({ object, other, role, link, act, firstEntry, lastEntry, changes }: ItemDraft, deed: Deed) {
  const isTie = deed.operation === 'associate' || deed.operation === 'disassociate';
  if (role !== null) {
    return (
      isTie &&
      deed.id > lastEntry &&
      deed.role !== null &&
      deed.role.id === role.id &&
      deed.object.id === object.id
    );
  }
  if (other !== null)
    return isTie && deed.id > lastEntry && deed.link === link && deed.other?.id === other.id;
  // Linking a created object means using it. Removing such a link does not change the object.
  if (isTie) {
    return act === 'made' && deed.operation === 'associate' && deed.id > firstEntry && deed.role === null;
  }
  if (act === 'made') return deed.operation === 'update' && deed.id > firstEntry;
  if (object.kind === 'setting') return deed.id > lastEntry;
  return Object.keys(deed.changes).some((field) => deed.id > (changes.get(field)?.lastEntry ?? deed.id));
}

function laterChange({ id, at, actor, operation, object, changes }: Deed): LaterChange {
  const names = Object.keys(changes).filter((name) => name !== 'id');
  const fields = object.kind === 'setting' && object.name !== null ? [object.name] : names;
  return {
    entry: id,
    at: at.toISOString(),
    by: actor,
    operation,
    fields: operation === 'update' || object.kind === 'setting' ? fields : [],
  };
}
