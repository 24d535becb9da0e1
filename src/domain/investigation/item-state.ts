import type { ItemDraft, RecordedChange } from './collect-items.ts';
import type { FieldChange, InvestigationItem, LaterChange } from './investigation.ts';
import { isMasked, isSameValue, isSecretName, printableValue } from './recorded-values.ts';

/** What an object is now, as far as it was read. */
export type Existence =
  | { readonly kind: 'exists'; readonly fields: Readonly<Record<string, unknown>> }
  | { readonly kind: 'gone' }
  | { readonly kind: 'unknown'; readonly why: string };

/** The most fields of a created object that are shown. */
const MAX_FIELDS = 40;

type State = Pick<InvestigationItem, 'state' | 'stateReason' | 'changes'>;

/** What became of an object that was made or changed, with each field before, after and now. */
export function stateOf(draft: ItemDraft, now: Existence, later: readonly LaterChange[]): State {
  const changes = fieldsOf(draft, now, later);
  if (draft.act === 'deleted' || draft.act === 'removed')
    return { state: 'gone', stateReason: null, changes };
  // A setting that is not set has its default: the actor set it, or reset it.
  if (now.kind === 'gone') return { state: goneState(draft), stateReason: null, changes };
  if (now.kind === 'unknown') return { state: 'unknown', stateReason: now.why, changes };
  if (draft.act === 'made') return { state: madeState(draft, now.fields), stateReason: null, changes };
  return { state: changedState(changes), stateReason: null, changes };
}

function goneState({ object, changes }: ItemDraft): InvestigationItem['state'] {
  if (object.kind !== 'setting') return 'gone';
  const isReset = [...changes.values()].some(({ before, after }) => before !== undefined && after === null);
  return isReset ? 'there' : 'undone';
}

/** A deactivated user, a disabled schedule and a disabled host do nothing any more. */
function madeState(
  { object }: ItemDraft,
  fields: Readonly<Record<string, unknown>>,
): InvestigationItem['state'] {
  const isOff =
    (object.kind === 'user' && fields['is_active'] === false) ||
    ((object.kind === 'schedule' || object.kind === 'host') && fields['enabled'] === false);
  return isOff ? 'undone' : 'there';
}

function changedState(changes: readonly FieldChange[]): InvestigationItem['state'] {
  const isLeft = (each: FieldChange) => each.state === 'as_left' || each.state === 'unknown';
  if (changes.length === 0 || changes.some(isLeft)) return 'there';
  return changes.every(({ state }) => state === 'as_before') ? 'undone' : 'changed';
}

function fieldsOf(draft: ItemDraft, now: Existence, later: readonly LaterChange[]): FieldChange[] {
  const isMade = draft.act === 'made' || draft.act === 'launched' || draft.act === 'deleted';
  const shown = [...draft.changes.values()].filter((change) => !isMade || saysSomething(change));
  return shown
    .slice(0, MAX_FIELDS)
    .map((change) => fieldOf(change, { now, later, isSetting: draft.object.kind === 'setting' }));
}

/** A created object records all its fields; those that are empty say nothing. */
function saysSomething({ after }: RecordedChange): boolean {
  return !(after === null || after === '' || after === false || after === '{}' || after === 0);
}

function fieldOf(
  change: RecordedChange,
  context: { readonly now: Existence; readonly later: readonly LaterChange[]; readonly isSetting: boolean },
): FieldChange {
  const { field, before, after, entry, lastEntry } = change;
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
    state: fieldState(change, { current, ...context }),
    entry,
    lastEntry,
  };
}

function fieldState(
  { field, before, after, lastEntry }: RecordedChange,
  context: { readonly current: unknown; readonly later: readonly LaterChange[]; readonly isSetting: boolean },
): FieldChange['state'] {
  const { current, later } = context;
  const byOthers = later.some((each) => each.entry > lastEntry && each.fields.includes(field));
  const isReadable = current !== undefined && !isMasked(current);
  if (isReadable && before !== undefined && !isMasked(before) && isSameValue(field, before, current))
    return 'as_before';
  if (byOthers) return 'changed';
  // A setting that the actor reset has its default, which is not recorded.
  if (after === null && context.isSetting) return before === undefined ? 'as_before' : 'as_left';
  if (!isReadable || isMasked(after)) return 'unknown';
  return isSameValue(field, after, current) ? 'as_left' : 'changed';
}
