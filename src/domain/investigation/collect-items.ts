import { words } from '@tokenctl/common/text.ts';
import { changeOf, type Deed, isInherited, isSameActor } from './deed.ts';
import { type FieldVerdict, fieldVerdict } from './field-verdicts.ts';
import type { Actor, InvestigationItem, ItemGroup, ObjectReference } from './investigation.ts';
import { isJobKind, kindOf, nounOf } from './kinds.ts';
import { type FieldEdit, uninterrupted } from './value-parts.ts';

/** The maximum number of entries that an item names. */
const MAX_ENTRIES = 100;

/** The maximum number of changes of one field, each interrupted by others, to compare one by one. */
const MAX_EDITS = 50;

/** The recorded changes of one field: raw values, which may be secrets. */
export interface RecordedChange {
  readonly field: string;
  /** Undefined for a field of a created object. */
  readonly before: unknown;
  readonly after: unknown;
  /** The first entry that changed it, with the value before. */
  readonly entry: number;
  readonly lastEntry: number;
  /** Each change, as entries were read; null if others interrupted more than {@link MAX_EDITS}. */
  readonly edits: readonly FieldEdit[] | null;
}

/** An item before its current state is read from the controller. */
export interface ItemDraft
  extends Pick<InvestigationItem, 'id' | 'group' | 'act' | 'object' | 'other' | 'role' | 'link' | 'by'>,
    Pick<InvestigationItem, 'entries' | 'entryCount'> {
  readonly first: Date;
  readonly last: Date;
  readonly firstEntry: number;
  readonly lastEntry: number;
  readonly changes: ReadonlyMap<string, RecordedChange>;
  /** The category of a setting; null if no entry contains it. */
  readonly category: string | null;
}

/**
 * Collects entries into items: all changes to one object, one role or one link are one item. Keeps no
 * entries, only what the items need, and at most the given number of items.
 */
export class ItemCollector {
  readonly #items = new Map<string, Building>();
  readonly #max: number;
  #isFull = false;

  constructor(max: number) {
    this.#max = max;
  }

  /** Whether entries about further objects were omitted. */
  get isFull(): boolean {
    return this.#isFull;
  }

  /** Adds an actor's entry; returns the id of its item, null if it was omitted. */
  add(deed: Deed, actor: Actor): string | null {
    const id = itemId(deed);
    let item = this.#items.get(id);
    if (item === undefined) {
      if (this.#items.size >= this.#max) {
        this.#isFull = true;
        return null;
      }
      item = new Building(id, deed);
      this.#items.set(id, item);
    }
    item.add(deed, actor);
    return id;
  }

  /** The items, as far as the entries show them. */
  drafts(): ItemDraft[] {
    return [...this.#items.values()].map((item) => item.draft());
  }
}

/** The id of an item, the same for every entry about it. */
function itemId({ id, operation, object, other, role, link }: Deed): string {
  const self = object.kind === 'setting' && object.name !== null ? object.name : (object.id ?? `entry-${id}`);
  if (operation !== 'associate' && operation !== 'disassociate') return `${object.kind}:${self}`;
  if (role !== null)
    return `role:${role.id ?? `${other?.kind}:${other?.id}:${role.field}`}:${object.kind}:${self}`;
  return `link:${link}:${object.kind}:${self}:${other?.kind}:${other?.id}`;
}

class Building {
  readonly #id: string;
  readonly #deed: Deed;
  #object: ObjectReference;
  #other: ObjectReference | null;
  readonly #by: Actor[] = [];
  readonly #entries: number[] = [];
  #entryCount = 0;
  #first: Date;
  #last: Date;
  #firstEntry: number;
  #lastEntry = 0;
  #made = false;
  #deleted = false;
  #lastOperation: Deed['operation'];
  #category: string | null = null;
  readonly #changes = new Map<string, RecordedChange>();

  constructor(id: string, deed: Deed) {
    this.#id = id;
    this.#deed = deed;
    this.#object = deed.object;
    this.#firstEntry = deed.id;
    this.#other = deed.other;
    this.#first = deed.at;
    this.#last = deed.at;
    this.#lastOperation = deed.operation;
  }

  add(deed: Deed, actor: Actor): void {
    const { object } = deed;
    this.#entryCount += 1;
    if (this.#entries.length < MAX_ENTRIES) this.#entries.push(deed.id);
    if (!this.#by.some((each) => isSameActor(each, actor))) this.#by.push(actor);
    if (deed.at < this.#first) this.#first = deed.at;
    if (deed.at >= this.#last) this.#last = deed.at;
    this.#firstEntry = Math.min(this.#firstEntry, deed.id);
    if (deed.id > this.#lastEntry) {
      this.#lastEntry = deed.id;
      this.#lastOperation = deed.operation;
    }
    this.#object = {
      kind: object.kind,
      id: object.id ?? this.#object.id,
      name: object.name ?? this.#object.name,
    };
    this.#other = deed.other ?? this.#other;
    this.#category ??= deed.category;
    if (deed.operation === 'create') this.#made = true;
    if (deed.operation === 'delete') this.#deleted = true;
    this.#addChanges(deed);
  }

  #addChanges({ id, operation, changes }: Deed): void {
    const isSetting = this.#object.kind === 'setting';
    if (operation === 'associate' || operation === 'disassociate' || (operation === 'delete' && !isSetting))
      return;
    for (const [name, value] of Object.entries(changes)) {
      const change = recordedValues(operation, value);
      if (name === 'id' || change === null) continue;
      // A setting has one value, which is as secret as the setting's name suggests.
      const field = isSetting && name === 'value' ? (this.#object.name ?? name) : name;
      this.#changes.set(field, merged(this.#changes.get(field), { field, id, change }));
    }
  }

  draft(): ItemDraft {
    const { role, link } = this.#deed;
    const act = this.#act();
    return {
      id: this.#id,
      group: groupOf({ object: this.#object, other: this.#other, role, link, act, changes: this.#changes }),
      act,
      object: this.#object,
      other: this.#other,
      role,
      link,
      by: this.#by,
      first: this.#first,
      last: this.#last,
      entries: this.#entries,
      entryCount: this.#entryCount,
      firstEntry: this.#firstEntry,
      lastEntry: this.#lastEntry,
      changes: this.#changes,
      category: this.#category,
    };
  }

  #act(): InvestigationItem['act'] {
    const last = this.#lastOperation;
    if (last === 'disassociate') return 'removed';
    if (last === 'associate') return this.#deed.role === null ? 'linked' : 'granted';
    // A setting's row is created when it is first set, and deleted when it is reset.
    if (this.#object.kind === 'setting') return 'changed';
    if (this.#deleted) return 'deleted';
    if (!this.#made) return 'changed';
    return isJobKind(this.#object.kind) ? 'launched' : 'made';
  }
}

/**
 * The values before and after of one field of an entry; null if it has none. A deleted setting is back at its
 * default, which is written as null.
 */
export function recordedValues(
  operation: Deed['operation'],
  value: unknown,
): readonly [before: unknown, after: unknown] | null {
  if (operation === 'update') return changeOf(value);
  return operation === 'create' ? [undefined, value] : [value, null];
}

/** Entries of several actors are not added in order: the first has the value before, the last the other. */
function merged(
  known: RecordedChange | undefined,
  { field, id, change }: { field: string; id: number; change: readonly [unknown, unknown] },
): RecordedChange {
  const isFirst = known === undefined || id < known.entry;
  const isLast = known === undefined || id > known.lastEntry;
  return {
    field,
    before: isFirst ? change[0] : known.before,
    after: isLast ? change[1] : known.after,
    entry: isFirst ? id : known.entry,
    lastEntry: isLast ? id : known.lastEntry,
    edits: withEdit(known === undefined ? [] : known.edits, {
      field,
      edit: { entry: id, last: id, before: change[0], after: change[1] },
    }),
  };
}

/** Adds a change. If there are too many, consecutive ones without a change by others are merged. */
function withEdit(edits: RecordedChange['edits'], { field, edit }: { field: string; edit: FieldEdit }) {
  if (edits === null || edits.length < MAX_EDITS) return edits === null ? null : [...edits, edit];
  const fewer = uninterrupted(field, [...edits, edit]);
  return fewer.length > MAX_EDITS ? null : fewer;
}

/** Links between these kinds decide which code runs, where, or with which credentials. */
const CODE_LINKS: ReadonlySet<string> = new Set(
  words(`credential instance_group notification_template inventory host group workflow_job_template_node
    execution_environment`),
);

export function groupOf(
  item: Pick<ItemDraft, 'object' | 'other' | 'role' | 'link' | 'act'> & {
    readonly changes: ItemDraft['changes'];
  },
): ItemGroup {
  const { object, other, role, act, changes } = item;
  if (act === 'deleted' || act === 'removed') return 'other';
  if (role !== null) return 'ways_in';
  if (other !== null)
    return CODE_LINKS.has(other.kind) || CODE_LINKS.has(object.kind) ? 'code_later' : 'other';
  const known = kindOf(object.kind)?.group ?? 'other';
  if (act !== 'changed' || (known !== 'other' && kindOf(object.kind)?.code === undefined)) return known;
  // A new description runs nothing; a new default execution environment of an organization does.
  const verdicts = new Set([...changes.keys()].map((field) => fieldVerdict(object.kind, field)));
  if (['code', 'secrets', null].some((verdict) => verdicts.has(verdict as FieldVerdict | null)))
    return 'code_later';
  return verdicts.has('access') ? 'ways_in' : 'other';
}

const VERBS: Readonly<Record<InvestigationItem['act'], string>> = {
  made: 'created',
  changed: 'changed',
  granted: 'granted',
  linked: 'linked',
  removed: 'removed',
  deleted: 'deleted',
  launched: 'launched',
};

/** An object in a sentence: `job template Demo (7)`. */
export function objectText({ kind, id, name }: ObjectReference): string {
  const number = kind === 'setting' || id === null ? '' : `(${id})`;
  if (name === null && kind === 'setting') return 'setting (its name was not recorded)';
  if (name === null && id === null) return `${nounOf(kind)} (deleted since)`;
  return [nounOf(kind), name, number].filter((part) => part !== null && part !== '').join(' ');
}

/** Appended to the summary of an item without an entry. */
export const NOT_IN_STREAM = ' (not in the activity stream)';

/** The item of an active access path that no activity stream entry names, and the basis of similar ones. */
export const UNRECORDED_WAY_IN = {
  group: 'ways_in',
  act: 'made',
  other: null,
  role: null,
  link: '',
  entries: [],
  entryCount: 0,
  state: 'there',
  stateReason: null,
  changes: [],
  changedSince: [],
  job: null,
} as const;

/** The action as a phrase. */
export function summaryOf(draft: ItemDraft): string {
  return `${doneText(draft)}${draft.entryCount === 0 ? NOT_IN_STREAM : ''}`;
}

function doneText({ act, object, other, role, link }: ItemDraft): string {
  const subject = objectText(object);
  const about = other === null ? '' : objectText(other);
  if (role !== null) {
    const name = role.field === null ? `a role (${role.id ?? 'unknown'})` : role.field;
    const on = about === '' ? 'of the system' : `on ${about}`;
    if (isInherited({ role, object }))
      return act === 'removed'
        ? `removed access to ${subject} from holders of ${name} ${on}`
        : `gave access to ${subject} to holders of ${name} ${on}`;
    return act === 'removed'
      ? `removed ${name} ${on} from ${subject}`
      : `granted ${name} ${on} to ${subject}`;
  }
  if (other !== null) {
    const how = link === '' ? '' : ` (${link})`;
    return act === 'removed'
      ? `removed ${about} from ${subject}${how}`
      : `added ${about} to ${subject}${how}`;
  }
  return `${VERBS[act]} the ${subject}`;
}
