import type { Actor, ObjectReference } from './investigation.ts';
import { isComputedField, linkName } from './kinds.ts';

/** An entry as stored in a controller's activity stream. */
export interface StreamEntry {
  readonly id: number;
  readonly at: Date;
  readonly operation: string;
  /** Null if the entry names no one; without an id, over REST, if the user was deleted. */
  readonly actor: Actor | null;
  readonly object1: string;
  readonly object2: string;
  /** For `associate`: `awx.main.models.organization.Organization.admin_role`; over REST the end of that. */
  readonly relationship: string;
  /** Raw: may contain secrets. */
  readonly changes: Readonly<Record<string, unknown>>;
  /** The name of its setting, and the setting's category (`authentication`). */
  readonly setting: string | null;
  readonly settingCategory: string | null;
  /** The objects still linked to it, by kind; the controller drops the links of deleted objects. */
  readonly links: ReadonlyMap<string, readonly { readonly id: number; readonly name: string | null }[]>;
}

/** A parsed entry: an action and its object. */
export interface Deed extends Pick<StreamEntry, 'id' | 'at' | 'actor'> {
  readonly operation: 'create' | 'update' | 'delete' | 'associate' | 'disassociate';
  /** Who received the role, for an entry about a role. */
  readonly object: ObjectReference;
  /** The other object of a link; what a role is about. */
  readonly other: ObjectReference | null;
  /** The role that was granted or removed; its field is null if not recorded. */
  readonly role: { readonly id: number | null; readonly field: string | null } | null;
  /** The kind of link (`notification_templates_success`); empty for anything else. */
  readonly link: string;
  /** The recorded fields of a created or deleted object; `[old, new]` for each changed field. Raw. */
  readonly changes: Readonly<Record<string, unknown>>;
  readonly category: string | null;
}

const OPERATIONS: ReadonlySet<string> = new Set(['create', 'update', 'delete', 'associate', 'disassociate']);

/** Parses an entry; null for an operation unknown to this version, and for changes of computed fields. */
export function readDeed(entry: StreamEntry): Deed | null {
  const { id, at, actor, operation } = entry;
  const changes = operation === 'update' ? chosenChanges(entry) : entry.changes;
  if (!OPERATIONS.has(operation) || changes === null) return null;
  const category = entry.settingCategory;
  const common = { id, at, actor, operation: operation as Deed['operation'], changes, category };
  if (operation === 'associate' || operation === 'disassociate') return { ...common, ...associated(entry) };
  return { ...common, object: objectOf(entry), other: null, role: null, link: '' };
}

/** The changes that a user made; null if the controller computed all of them. */
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

/** The name of a created or deleted object; the new name of a renamed one. */
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
  // Adding a member to a team: the entry starts with the team, and names the user, not the role.
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

/** A user gained or lost a name, by a rename, a creation or a deletion. */
export interface NameChange {
  readonly entry: number;
  readonly at: Date;
  /** Null for a renamed user who was deleted since: the controller drops the links of the entry. */
  readonly userId: number | null;
  /** Null for a created user. */
  readonly from: string | null;
  /** Null for a deleted user. */
  readonly to: string | null;
}

/** The changes of user names in entries about users, in order. */
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
 * Whether an entry about a role says who has it through another role, not who received one: administrators of
 * a team administer credentials created for it, and administrators of an organization its objects. Then
 * `role` is of `other`, and the role of `object` that it gives is not recorded.
 */
export function isInherited({ role, object }: Pick<Deed, 'role' | 'object'>): boolean {
  return role !== null && object.kind !== 'user' && object.kind !== 'team';
}

/** Whether two references mean the same user: by id, or by name if one has no id. */
export function isSameActor(a: Actor, b: Actor): boolean {
  return a.id === null || b.id === null ? a.username === b.username : a.id === b.id;
}
