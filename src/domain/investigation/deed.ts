import type { Actor, ObjectReference } from './investigation.ts';
import { isComputedField, linkName } from './kinds.ts';

/** An entry of a controller's activity stream as it is stored. */
export interface StreamEntry {
  readonly id: number;
  readonly at: Date;
  readonly operation: string;
  /** Null if the entry names no one; without an id, over REST, where the user was deleted. */
  readonly actor: Actor | null;
  readonly object1: string;
  readonly object2: string;
  /** What `associate` is about: `awx.main.models.organization.Organization.admin_role`; over REST the end of that. */
  readonly relationship: string;
  /** Raw: it may hold secrets. */
  readonly changes: Readonly<Record<string, unknown>>;
  /** The name of the setting that it is about, and the settings that it belongs to (`authentication`). */
  readonly setting: string | null;
  readonly settingCategory: string | null;
  /** The objects that it is still linked to, by kind; the controller drops the links of deleted objects. */
  readonly links: ReadonlyMap<string, readonly { readonly id: number; readonly name: string | null }[]>;
}

/** An entry, read: what was done to what. */
export interface Deed extends Pick<StreamEntry, 'id' | 'at' | 'actor'> {
  readonly operation: 'create' | 'update' | 'delete' | 'associate' | 'disassociate';
  /** Who received a role, where it is about one. */
  readonly object: ObjectReference;
  /** The other object of a link; what a role is about. */
  readonly other: ObjectReference | null;
  /** The role that was granted or removed; its field is null where it is not recorded. */
  readonly role: { readonly id: number | null; readonly field: string | null } | null;
  /** What kind of link it is (`notification_templates_success`); empty for anything else. */
  readonly link: string;
  /** The recorded fields of a created or deleted object; `[old, new]` for each changed field. Raw. */
  readonly changes: Readonly<Record<string, unknown>>;
  /** Of a setting: those that it belongs to. */
  readonly category: string | null;
}

const OPERATIONS: ReadonlySet<string> = new Set(['create', 'update', 'delete', 'associate', 'disassociate']);

/** Reads an entry; null for an operation that no controller of this version records, and for a change of computed fields only. */
export function readDeed(entry: StreamEntry): Deed | null {
  const { id, at, actor, operation } = entry;
  const changes = operation === 'update' ? chosenChanges(entry) : entry.changes;
  if (!OPERATIONS.has(operation) || changes === null) return null;
  const category = entry.settingCategory;
  const common = { id, at, actor, operation: operation as Deed['operation'], changes, category };
  if (operation === 'associate' || operation === 'disassociate') return { ...common, ...associated(entry) };
  return { ...common, object: objectOf(entry), other: null, role: null, link: '' };
}

/** The changes that someone made; null if the controller computed all. */
function chosenChanges({ object1, changes }: StreamEntry): StreamEntry['changes'] | null {
  const fields = Object.keys(changes);
  const chosen = fields.filter((field) => !isComputedField(object1, field));
  if (chosen.length === fields.length) return changes;
  return chosen.length === 0 ? null : Object.fromEntries(chosen.map((field) => [field, changes[field]]));
}

function objectOf({ object1, operation, changes, setting, links }: StreamEntry): ObjectReference {
  const linked = links.get(object1)?.[0] ?? null;
  if (object1 === 'setting') return { kind: object1, id: numberOrNull(changes['id']), name: setting };
  const recorded = operation === 'update' ? null : numberOrNull(changes['id']);
  return {
    kind: object1,
    id: recorded ?? linked?.id ?? null,
    name: linked?.name ?? nameIn(changes, operation === 'update'),
  };
}

/** The name that a created or deleted object had; a renamed object's new one. */
function nameIn(changes: StreamEntry['changes'], isUpdate: boolean): string | null {
  const recorded = changes['name'] ?? changes['username'] ?? changes['hostname'];
  const name = isUpdate ? changeOf(recorded)?.[1] : recorded;
  return typeof name === 'string' && name !== '' ? name : null;
}

type Association = Pick<Deed, 'object' | 'other' | 'role' | 'link'>;

function associated(entry: StreamEntry): Association {
  const { object1, object2, changes, relationship, links } = entry;
  const recorded = typeof changes['relationship'] === 'string' ? changes['relationship'] : '';
  const isRole = /rbac\.Role_(members|parents)$/.test(recorded) || /_role$/.test(relationship);
  const first = reference(object1, numberOrNull(changes['object1_pk']), links);
  const secondId = numberOrNull(changes['object2_pk']);
  if (!isRole) {
    const other = reference(object2, secondId, links);
    return { object: first, other, role: null, link: linkName(recorded || relationship) };
  }
  const field = /(\w+_role)$/.exec(relationship)?.[1] ?? null;
  const linkedRole = links.get('role')?.[0]?.id ?? null;
  // A member that is added to a team: the entry begins with the team, and names the user, not the role.
  if (object2 === 'user') {
    const user = reference(object2, secondId, links);
    return { object: user, other: first, role: { id: linkedRole, field }, link: 'role' };
  }
  const about = object2 === 'role' ? null : reference(object2, null, links);
  return { object: first, other: about, role: { id: secondId ?? linkedRole, field }, link: 'role' };
}

function reference(kind: string, id: number | null, links: StreamEntry['links']): ObjectReference {
  const all = links.get(kind) ?? [];
  const found = id === null ? all[0] : all.find((each) => each.id === id);
  return { kind, id: id ?? found?.id ?? null, name: found?.name ?? null };
}

function numberOrNull(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : null;
}

/** The old and new value of a changed field; null for anything else. */
export function changeOf(value: unknown): readonly [before: unknown, after: unknown] | null {
  return Array.isArray(value) && value.length === 2 ? [value[0], value[1]] : null;
}

/** That a user got or gave up a name: by another name, by being created, or by being deleted. */
export interface NameChange {
  readonly entry: number;
  readonly at: Date;
  /** Null for a renamed user who was deleted since: the controller drops the links of the entry. */
  readonly userId: number | null;
  /** Null for a user who was created. */
  readonly from: string | null;
  /** Null for one who was deleted. */
  readonly to: string | null;
}

/** The changes of user names among entries about users, in their order. */
export function nameChangesIn(entries: readonly StreamEntry[]): NameChange[] {
  return entries.flatMap((entry) => {
    const deed = readDeed(entry);
    const recorded = entry.changes['username'];
    if (deed === null || deed.object.kind !== 'user' || recorded === undefined) return [];
    const { id, at, operation, object } = deed;
    const [from, to] =
      operation === 'create'
        ? [null, recorded]
        : operation === 'delete'
          ? [recorded, null]
          : (changeOf(recorded) ?? []);
    return isName(from) && isName(to) ? [{ entry: id, at, userId: object.id, from, to }] : [];
  });
}

function isName(value: unknown): value is string | null {
  return value === null || typeof value === 'string';
}

/**
 * Whether an entry about a role says who has it through another role, and not who got one: a credential that is made for a team is
 * administered by who administers the team, and an object in an organization by who administers that. Then `role` is of `other`,
 * and which role of `object` it gives is not recorded.
 */
export function isInherited({ role, object }: Pick<Deed, 'role' | 'object'>): boolean {
  return role !== null && object.kind !== 'user' && object.kind !== 'team';
}

/** Whether two references are to one user: by id, or by name where one has none. */
export function isSameActor(a: Actor, b: Actor): boolean {
  return a.id === null || b.id === null ? a.username === b.username : a.id === b.id;
}
