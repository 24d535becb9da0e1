import { words } from '@tokenctl/common/text.ts';
import { usedToken } from '../recorded-use.ts';
import type { StreamEntry } from './deed.ts';
import type { Actor } from './investigation.ts';
import { kindOfModel } from './kinds.ts';

/** The user of entries by a gateway's token endpoints and management commands [seen on all three layouts]. */
export const SYSTEM_USER = '_system';

/** An entry of a gateway's activity stream, from its table or its API. */
export interface GatewayEntry {
  readonly id: number;
  readonly at: Date;
  readonly operation: string;
  /** Null if the user was deleted since: a gateway then loses the reference. */
  readonly actor: Actor | null;
  /** The model of the object: `oauth2accesstoken`, `preference`, `user`. */
  readonly model: string;
  readonly objectId: string | null;
  /** The other object of a link; empty if there is none. */
  readonly relatedModel: string;
  readonly relatedId: string | null;
  readonly relatedField: string;
  /** `added_fields`, `removed_fields` and `changed_fields`. The table has text for numbers and booleans. */
  readonly changes: Readonly<Record<string, unknown>>;
}

/** The model of a setting; it is mapped to the controller's kind. */
const PREFERENCE = 'preference';

/** Set by every save of an object: it says nothing about the change. */
const BOOKKEEPING: ReadonlySet<string> = new Set(['created', 'modified', 'created_by', 'modified_by']);

/** Fields that contain the id of an object. The table has them as text. */
const NUMBERS: ReadonlySet<string> = new Set(
  words(`id user application organization access_token id_token source_refresh_token team role_definition
    authenticator order auto_migrate_users_to`),
);

/** Fields whose text may look like another type. */
const TEXTS: ReadonlySet<string> = new Set(
  words(`name username description first_name last_name email raw_value`),
);

function kindOfGatewayModel(model: string): string {
  return model === PREFERENCE ? 'setting' : kindOfModel(model);
}

export function gatewayModelOf(kind: string): string {
  return kind === 'setting' ? PREFERENCE : kind.replaceAll('_', '');
}

/**
 * An entry in the controller's form.
 * @param settings The names of settings by the ids of their rows.
 * @returns Null for an entry without a recorded change: the use of a token, or a save that changed no
 * recorded field. For an application, such a save counts: a new client secret is not recorded [seen on all
 * three layouts].
 */
export function streamEntryOf(
  entry: GatewayEntry,
  settings: ReadonlyMap<number, string>,
): StreamEntry | null {
  const { id, at, operation, model, objectId, relatedModel, relatedId, relatedField } = entry;
  const kind = kindOfGatewayModel(model);
  const object = numberOf(objectId);
  const fields = fieldsOf(entry);
  const changes = { ...fields, ...(object !== null && { id: object }) };
  const saved = { ...memberOf(entry.changes, 'changed_fields'), id: object };
  if (usedToken({ operation, object: kind, changes: saved }) !== null) return null;
  const isEmpty = operation === 'update' && Object.keys(fields).length === 0;
  if (isEmpty && kind !== 'o_auth2_application') return null;
  const isLink = operation === 'associate' || operation === 'disassociate';
  const other = kindOfGatewayModel(relatedModel);
  const links = [
    ...(object === null ? [] : [[kind, [{ id: object, name: nameIn(fields) }]] as const]),
    ...(isLink && numberOf(relatedId) !== null
      ? [[other, [{ id: numberOf(relatedId) ?? 0, name: null }]] as const]
      : []),
  ];
  return {
    id,
    at,
    operation,
    object1: kind,
    object2: isLink ? other : '',
    relationship: relatedField,
    actor: entry.actor?.username === SYSTEM_USER ? null : entry.actor,
    changes: isLink ? { object1_pk: object, object2_pk: numberOf(relatedId) } : changesOf(kind, changes),
    setting: kind === 'setting' && object !== null ? (settings.get(object) ?? null) : null,
    settingCategory: null,
    links: new Map(links),
  };
}

/** A setting has one value, which is recorded as text. */
function changesOf(kind: string, changes: Readonly<Record<string, unknown>>): Record<string, unknown> {
  if (kind !== 'setting') return changes;
  const { id, raw_value: raw } = changes;
  const value = Array.isArray(raw) ? raw.map(settingValue) : settingValue(raw);
  return { id, ...(raw !== undefined && { value }) };
}

/** The fields that an entry is about, in the API's types, without those that every save sets. */
function fieldsOf({ operation, changes }: GatewayEntry): Record<string, unknown> {
  const changed = memberOf(changes, 'changed_fields');
  const fields =
    operation === 'update'
      ? changed
      : { ...memberOf(changes, 'added_fields'), ...memberOf(changes, 'removed_fields'), ...changed };
  return Object.fromEntries(
    Object.entries(fields)
      .filter(([name]) => !BOOKKEEPING.has(name))
      .map(([name, value]) => [
        name,
        operation === 'update' && Array.isArray(value)
          ? value.map((each) => typed(name, each))
          : typed(name, value),
      ]),
  );
}

function memberOf(
  changes: GatewayEntry['changes'],
  name: 'added_fields' | 'removed_fields' | 'changed_fields',
): Readonly<Record<string, unknown>> {
  const member = changes[name];
  return typeof member === 'object' && member !== null ? (member as Readonly<Record<string, unknown>>) : {};
}

/** A value of the table in the API's form. */
function typed(name: string, value: unknown): unknown {
  if (TEXTS.has(name)) return value;
  if (value === 'True' || value === 'False') return value === 'True';
  return NUMBERS.has(name) ? (numberOf(value) ?? value) : value;
}

/** The value of a setting that is stored as text. */
export function settingValue(raw: unknown): unknown {
  if (typeof raw !== 'string') return raw;
  if (raw === 'True' || raw === 'False') return raw === 'True';
  return /^-?\d{1,15}(\.\d{1,15})?$/.test(raw) ? Number(raw) : raw;
}

/** The id of an object's creator or last editor, if an entry has it; otherwise null. */
export function recordedMaker({ changes }: Pick<GatewayEntry, 'changes'>): number | null {
  const { created_by: made } = memberOf(changes, 'added_fields');
  const { modified_by: modified } = memberOf(changes, 'changed_fields');
  return numberOf(made) ?? (Array.isArray(modified) ? numberOf(modified[1]) : null);
}

function nameIn(fields: Readonly<Record<string, unknown>>): string | null {
  const found = fields['name'] ?? fields['username'];
  const name = Array.isArray(found) ? found[1] : found;
  return typeof name === 'string' && name !== '' ? name : null;
}

function numberOf(value: unknown): number | null {
  const number = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isSafeInteger(number) ? number : null;
}
