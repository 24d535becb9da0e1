import type { ItemDraft, RecordedChange } from './collect-items.ts';
import { type FieldChange, type InvestigationItem, isLeft, type LaterChange } from './investigation.ts';
import { interimName, nameField } from './kinds.ts';
import { isMasked, isSameValue, isSecretName, printableValue } from './recorded-values.ts';
import { type FieldEdit, inOrder, isSameContent, leftOf, leftOver, uninterrupted } from './value-parts.ts';

/** The current state of an object, as far as it was read. */
export type Existence =
  | { readonly kind: 'exists'; readonly fields: Readonly<Record<string, unknown>> }
  | { readonly kind: 'gone' }
  | { readonly kind: 'unknown'; readonly why: string };

/** The current state of an item's object, and others' changes since. */
export interface Since {
  readonly now: Existence;
  readonly later: readonly LaterChange[];
  /** The changes of a field by others between two entries; null if too many to compare. */
  readonly between: (field: string, first: number, last: number) => readonly FieldEdit[] | null;
}

/** The maximum number of a created object's fields to show: its state does not depend on them. */
const MAX_FIELDS = 40;

/** Fields with one secret, which a change replaces as a whole. In others, a change may keep parts. */
const WHOLE_SECRETS: ReadonlySet<string> = new Set(['password', 'client_secret', 'webhook_key', 'token']);

type State = Pick<InvestigationItem, 'state' | 'stateReason' | 'changes'>;

/** The state of an object that was created or changed, with each field before, after and now. */
export function stateOf(draft: ItemDraft, since: Since): State {
  const { now, later } = since;
  const changes = fieldsOf(draft, since);
  if (draft.act === 'deleted' || draft.act === 'removed')
    return { state: 'gone', stateReason: null, changes };
  // An unset setting has its default: the actor set it, or reset it.
  if (now.kind === 'gone') return { state: goneState(draft, changes), stateReason: null, changes };
  if (now.kind === 'unknown') return { state: 'unknown', stateReason: now.why, changes };
  if (draft.act === 'made') return { state: madeState(draft, now.fields), stateReason: null, changes };
  return { ...changedState(changes, later), changes };
}

function goneState({ object }: ItemDraft, changes: readonly FieldChange[]): InvestigationItem['state'] {
  if (object.kind !== 'setting') return 'gone';
  return changes.some(isLeft) ? 'there' : 'undone';
}

/** A deactivated user, a disabled schedule and a disabled host have no further effect. */
function madeState(
  { object }: ItemDraft,
  fields: Readonly<Record<string, unknown>>,
): InvestigationItem['state'] {
  const isOff =
    (object.kind === 'user' && fields['is_active'] === false) ||
    ((object.kind === 'schedule' || object.kind === 'host') && fields['enabled'] === false);
  return isOff ? 'undone' : 'there';
}

function changedState(
  changes: readonly FieldChange[],
  later: readonly LaterChange[],
): Pick<InvestigationItem, 'state' | 'stateReason'> {
  const unreviewed = changes.filter(({ state }) => state === 'not_reviewed').map(({ field }) => field);
  if (changes.length === 0 || changes.some((each) => isLeft(each) && each.state !== 'not_reviewed'))
    return { state: 'there', stateReason: null };
  if (unreviewed.length > 0) {
    const last = later.findLast(({ fields }) => fields.some((field) => unreviewed.includes(field)));
    const by = last?.by?.username ?? 'no recorded actor';
    return {
      state: 'unknown',
      stateReason: `Not checked: ${unreviewed.join(', ')} changed since by ${by}, not reviewed.`,
    };
  }
  const isBack = changes.every(({ state }) => state === 'as_before');
  return { state: isBack ? 'undone' : 'changed', stateReason: null };
}

function fieldsOf(draft: ItemDraft, since: Since): FieldChange[] {
  const isMade = draft.act === 'made' || draft.act === 'launched' || draft.act === 'deleted';
  const shown = [...draft.changes.values()].filter((change) => !isMade || saysSomething(change));
  return shown
    .slice(0, isMade ? MAX_FIELDS : undefined)
    .map((change) => fieldOf(change, { ...since, object: draft.object }));
}

/** A created object records all its fields; empty ones are skipped. */
function saysSomething({ after }: RecordedChange): boolean {
  return !(after === null || after === '' || after === false || after === '{}' || after === 0);
}

interface Base extends Pick<FieldChange, 'isDefault' | 'isMixed'> {
  readonly before: unknown;
  readonly entry: number;
}

/**
 * The value before the actor's last changes without another user's in between: going back further would lose
 * others' changes. It cannot be restored if it contains something that the actor added earlier.
 */
function baseOf({ field, before, entry, edits }: RecordedChange): Base {
  // More changes than are compared.
  if (edits === null) return { before, entry, isMixed: true };
  const runs = uninterrupted(field, edits);
  const last = runs.at(-1);
  if (last === undefined) return { before, entry };
  const earlier = edits.filter((edit) => edit.entry < last.entry);
  const isMasking = earlier.length > 0 && [last.before, ...earlier.map(({ after }) => after)].some(isMasked);
  const isMixed = earlier.length > 0 && (isMasking || leftOf(field, earlier, last.before) !== 'none');
  return {
    before: last.before,
    entry: last.entry,
    ...(last.isDefault === true && { isDefault: true }),
    ...(isMixed && { isMixed: true }),
  };
}

function fieldOf(
  change: RecordedChange,
  context: Since & { readonly object: ItemDraft['object'] },
): FieldChange {
  const { field, after, lastEntry } = change;
  const { before, entry, ...base } = baseOf(change);
  const printedBefore = before === undefined || isMasked(before) ? undefined : printableValue(field, before);
  const printedAfter = isMasked(after) ? undefined : printableValue(field, after);
  const isSecret = isSecretName(field);
  const hidden = printedAfter === undefined || (isSecret && printedBefore === undefined);
  const current = context.now.kind === 'exists' ? context.now.fields[field] : undefined;
  const printedNow = isSecret || current === undefined ? undefined : printableValue(field, current);
  return {
    field,
    ...(printedBefore === undefined ? {} : { before: printedBefore }),
    ...(hidden ? {} : { after: printedAfter }),
    ...(printedNow === undefined ? {} : { now: printedNow }),
    hidden,
    state: fieldState(change, { current, base: before, isDefault: base.isDefault === true, ...context }),
    ...base,
    entry,
    lastEntry,
  };
}

interface FieldContext extends Since {
  readonly current: unknown;
  /** The value to restore. */
  readonly base: unknown;
  readonly isDefault: boolean;
  readonly object: ItemDraft['object'];
}

function fieldState(change: RecordedChange, context: FieldContext): FieldChange['state'] {
  const { field, before, after, lastEntry } = change;
  const { current, later, base, object, isDefault } = context;
  const byOthers = later.some((each) => each.entry > lastEntry && each.fields.includes(field));
  // A setting that the actor reset has its default, which is not recorded.
  const isReset = object.kind === 'setting' && after === null;
  // An interrupted cleaning left it like this.
  if (field === nameField(object.kind) && current === interimName(object)) return 'as_left';
  const decided = decidedState(change, context) ?? unsetState(change, context);
  if (decided !== null) return decided;
  if (current !== undefined && !isMasked(current)) {
    const isBack = (value: unknown) =>
      value !== undefined &&
      !isMasked(value) &&
      (isSameValue(field, value, current) || isSameContent(value, current));
    if (isBack(base) || isBack(before)) return 'as_before';
    if (!isReset && !isMasked(after) && isSameValue(field, after, current)) return 'as_left';
  }
  if (isReset && !byOthers) return before === undefined || isDefault ? 'as_before' : 'as_left';
  return comparedInPart(change, current, byOthers);
}

/** Whether a setting no longer has its own value: the controller uses the default. */
function isUnset({ object, now }: Pick<FieldContext, 'object' | 'now'>): boolean {
  return object.kind === 'setting' && now.kind === 'gone';
}

function unsetState({ before, after }: RecordedChange, context: FieldContext): FieldChange['state'] | null {
  if (!isUnset(context)) return null;
  if (before === undefined || context.isDefault) return 'as_before';
  return after === null ? 'as_left' : 'changed';
}

/**
 * The state of a field that others changed between the actor's changes, if the result is the actor's work: an
 * actor who reverts another user's repair leaves the earlier value, which still counts as the actor's. Null
 * if this does not decide it.
 */
function decidedState(
  { field, edits, after, entry, lastEntry }: RecordedChange,
  context: FieldContext,
): FieldChange['state'] | null {
  const { current, between } = context;
  const isReadable = current === undefined ? isUnset(context) : !isMasked(current);
  if (edits === null || edits.length < 2 || !isReadable) return null;
  const others = between(field, entry, lastEntry);
  if (others === null) return 'not_reviewed';
  if ([...edits, ...others].some((edit) => isMasked(edit.before) || isMasked(edit.after))) return null;
  const left = leftOver(field, { edits, between: others }, current);
  if (left === 'none') return null;
  if (isSameValue(field, after, current)) return 'as_left';
  return left === 'some' ? 'left_in_part' : 'not_reviewed';
}

/** The state of a field whose value is neither the earlier nor the actor's, or is unreadable. */
function comparedInPart(
  { field, before, after, entry, lastEntry, edits }: RecordedChange,
  current: unknown,
  byOthers: boolean,
): FieldChange['state'] {
  const known = edits === null ? [{ entry, last: lastEntry, before, after }] : inOrder(edits);
  const isReadable = current !== undefined && !isMasked(current);
  if (isReadable && known.every((edit) => !isMasked(edit.before) && !isMasked(edit.after))) {
    const left = leftOf(field, known, current);
    return left === 'some' ? 'left_in_part' : left === 'undecided' ? 'not_reviewed' : 'changed';
  }
  if (byOthers) return WHOLE_SECRETS.has(field) ? 'changed' : 'not_reviewed';
  return isReadable && !isMasked(after) ? 'changed' : 'unknown';
}
