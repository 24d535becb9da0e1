import { TokenctlError } from '@tokenctl/common/errors.ts';
import { type CleaningAct, undoing } from '../../domain/investigation/cleaning.ts';
import { changeOf, readDeed } from '../../domain/investigation/deed.ts';
import type { FieldChange, ObjectReference } from '../../domain/investigation/investigation.ts';
import { nameField } from '../../domain/investigation/kinds.ts';
import { isMasked, isSameValue } from '../../domain/investigation/recorded-values.ts';
import { isSameController, objectOf, textOf } from '../journal/journal.ts';
import type { AuditLog, Entry } from '../ports/audit-log.ts';
import type { Evidence } from '../ports/evidence.ts';
import type { TargetDescription } from '../ports/target.ts';
import { type Naming, withFreeNames } from './order-cleaning.ts';
import {
  type CleanedItem,
  type CleaningWay,
  choose,
  type KeptItem,
  type PlannedCleaning,
} from './plan-cleaning.ts';

interface UndoRequest {
  /** The run of the cleaning in the audit log, or a unique prefix. */
  readonly run: string;
  /** The items to undo, by id; all if absent. */
  readonly items?: readonly string[] | undefined;
  readonly ways: readonly CleaningWay[];
  readonly restProblem: string | null;
}

export interface UndoPlan {
  /** The full id of the cleaning's run. */
  readonly undoes: string;
  readonly incident: string | null;
  readonly clean: readonly PlannedCleaning[];
  readonly keep: readonly KeptItem[];
  readonly request: UndoRequest;
}

/** An action of a cleaning, as recorded in the audit log. */
interface RecordedAct {
  readonly item: CleanedItem;
  readonly act: CleaningAct;
}

/**
 * Plans how to undo a cleaning: the audit log says what it did, the activity stream which values it replaced.
 * Items that are as before the cleaning are not in the plan; items changed since stay. Reads only.
 * @throws TokenctlError `not_found` for a run that the log does not have as a cleaning of this controller, or
 * an item that the run does not have.
 */
export async function planUndo(
  options: UndoRequest & {
    readonly log: Pick<AuditLog, 'entries'>;
    readonly description: TargetDescription;
    readonly evidence: Evidence;
  },
): Promise<UndoPlan> {
  const { evidence, ways, restProblem, run, items } = options;
  const { undoes, incident, acts } = await readCleaning(options);
  const unknown = items?.find((id) => !acts.some(({ item }) => item.id === id));
  if (unknown !== undefined) {
    throw new TokenctlError('not_found', `The cleanup ${undoes} has no item "${unknown}"`, {
      hint: `List its items with \`tokenctl log show ${undoes}\`.`,
      details: { kind: 'item', names: [unknown] },
    });
  }
  const names = new Map<string, Naming>();
  const clean: PlannedCleaning[] = [];
  const keep: KeptItem[] = [];
  for (const { item, act } of acts.filter(({ item: { id } }) => items?.includes(id) ?? true)) {
    const decided = await decide(act, evidence);
    if (decided === null) continue;
    const { act: next, changes, naming } = decided;
    if (naming !== undefined) names.set(item.id, naming);
    if (next !== null) {
      const chosen = choose({ changes }, next, { ways, restProblem });
      if ('why' in chosen) keep.push({ item, reason: 'by_hand', why: chosen.why });
      else clean.push({ item, ...chosen });
    }
    if (decided.kept !== null) keep.push({ item, ...decided.kept });
  }
  // In reverse order.
  const ordered = withFreeNames(clean.toReversed(), ({ item }) => names.get(item.id) ?? null);
  return { undoes, incident, clean: ordered, keep, request: { run, items, ways, restProblem } };
}

async function readCleaning(options: {
  readonly log: Pick<AuditLog, 'entries'>;
  readonly description: TargetDescription;
  readonly run: string;
}): Promise<{
  readonly undoes: string;
  readonly incident: string | null;
  readonly acts: readonly RecordedAct[];
}> {
  const { log, description, run } = options;
  const runs = new Map<string, { incident: string | null; acts: Map<number, RecordedAct> }>();
  for await (const entry of log.entries(1, { operations: ['incident.clean'] })) {
    if (!entry.run.startsWith(run) || run === '' || !isSameController(entry.target, description)) continue;
    const found = runs.get(entry.run) ?? { incident: null, acts: new Map<number, RecordedAct>() };
    runs.set(entry.run, found);
    found.incident ??= textOf(entry.data['incident']) ?? null;
    if (entry.kind === 'outcome') {
      // A refused action was not done; if the result is unknown, the current state decides.
      if (['refused', 'unchanged'].includes(textOf(entry.data['result']) ?? ''))
        found.acts.delete(entry.closes ?? 0);
      continue;
    }
    const act = recordedAct(entry);
    if (act !== null) found.acts.set(entry.seq, act);
  }
  const [only, ...others] = runs;
  if (only !== undefined && others.length === 0) {
    return { undoes: only[0], incident: only[1].incident, acts: [...only[1].acts.values()] };
  }
  throw new TokenctlError(
    'not_found',
    others.length > 0
      ? `Several cleanups start with ${run}`
      : `The audit log has no cleanup ${run} on this controller`,
    {
      hint: 'Find its run with `tokenctl log list --operation incident.clean`.',
      details: { kind: 'run', names: [run] },
    },
  );
}

/** The action of an intent; null for the intent of the whole cleaning. */
function recordedAct({ data }: Entry): RecordedAct | null {
  const id = textOf(data['item']);
  const about = objectOf(data['object']);
  if (id === undefined || about === undefined || typeof data['act'] !== 'string') return null;
  // A temporary rename; the final one has its own action.
  if (data['act'] === 'rename') return null;
  const named = objectOf(data['about']) ?? {};
  const entries = Array.isArray(data['entries']) ? data['entries'].map(Number) : [];
  const item: CleanedItem = {
    id,
    entries,
    summary: textOf(data['summary']) ?? id,
    risk: null,
    remedy: null,
    object: (named['object'] ?? { ...about, name: null }) as ObjectReference,
    other: (named['other'] ?? null) as ObjectReference | null,
    role: (named['role'] ?? null) as CleanedItem['role'],
  };
  return { item, act: data as unknown as CleaningAct };
}

/** What to do about a recorded action. */
interface Decision {
  /** Null if nothing can be done. */
  readonly act: CleaningAct | null;
  readonly changes: readonly FieldChange[];
  /** The names of an object that is renamed back. */
  readonly naming?: Naming;
  readonly kept: Pick<KeptItem, 'reason' | 'why'> | null;
}

/** Null for an item that is already as before the cleaning. */
async function decide(done: CleaningAct, evidence: Evidence): Promise<Decision | null> {
  const act = undoing(done);
  if (act === null)
    return keep('not_undoable', NOT_UNDOABLE[done.act] ?? 'Its previous value was not recorded.');
  switch (act.act) {
    case 'enable': {
      const found = act.object.id === null ? null : await evidence.objects(act.object.kind, [act.object.id]);
      const fields = found?.get(act.object.id ?? 0)?.fields;
      if (fields === undefined)
        return keep('not_undoable', 'It has since been deleted, or cannot be read here.');
      return fields[act.field] === true ? null : { act, changes: [], kept: null };
    }
    case 'associate': {
      const { object, other, link } = act;
      const [id, otherId] = [object.id, other.id];
      if (id === null || otherId === null) return keep('unknown', 'The affected objects are not recorded.');
      const holder = { kind: other.kind, id: otherId };
      return await decideTie(act, evidence, {
        holder,
        isHeld: () =>
          link === 'role'
            ? evidence.hasRole(id, holder)
            : evidence.hasLink(link, { ...object, name: null }, { ...other, name: null }),
      });
    }
    case 'assign': {
      const { assignment } = act;
      const isHeld = () => evidence.hasAssignment(assignment);
      return await decideTie(act, evidence, { holder: assignment.holder, isHeld });
    }
    case 'restore':
      return await decideFields(act, evidence, done.act === 'restore' && done.survey !== null);
    default:
      return keep('not_undoable', 'Its previous value was not recorded.');
  }
}

const NO_SURVEY = 'A deleted survey is not recorded.';

const NOT_UNDOABLE: Readonly<Partial<Record<CleaningAct['act'], string>>> = {
  delete: 'It was deleted and cannot be restored.',
  cancel: 'A canceled job does not continue. Launch it again.',
  restore: NO_SURVEY,
};

function keep(reason: KeptItem['reason'], why: string): Decision {
  return { act: null, changes: [], kept: { reason, why } };
}

async function decideTie(
  act: CleaningAct,
  evidence: Evidence,
  tie: {
    readonly holder: { readonly kind: string; readonly id: number };
    readonly isHeld: () => Promise<boolean | null>;
  },
): Promise<Decision | null> {
  const { kind, id } = tie.holder;
  const isThere = await evidence.objects(kind, [id]);
  if (isThere?.has(id) === false) return keep('not_undoable', 'Its holder or linked object was deleted.');
  const isHeld = await tie.isHeld();
  if (isHeld === null) return keep('unknown', 'Not checked: this context cannot list it.');
  return isHeld ? null : { act, changes: [], kept: null };
}

/** Restores fields that still hold the value written by the cleaning; the others were changed since. */
async function decideFields(
  act: Extract<CleaningAct, { readonly act: 'restore' }>,
  evidence: Evidence,
  hadSurvey: boolean,
): Promise<Decision | null> {
  const { object, fields, isDefault } = act;
  const values = await recordedValues(evidence, fields);
  const now = await currentFields(evidence, { object, fields });
  const defaults = isDefault ? await defaultsOf(evidence, fields) : new Map();
  const state = (field: string): 'back' | 'as_left' | 'changed' | 'secret' => {
    const [left, recorded] = values[field] ?? [];
    const known = defaults.get(field);
    const before: unknown = isDefault ? known?.value : recorded;
    if (left === undefined || isMasked(left) || isMasked(before)) return 'secret';
    const current = now[field];
    // A setting without a row has its default.
    if (current === undefined && known === 'unset') return 'back';
    if (current === undefined || isMasked(current)) return 'secret';
    if (isSameValue(field, left, current)) return 'as_left';
    return isSameValue(field, before, current) ? 'back' : 'changed';
  };
  const byState = Map.groupBy(fields, ({ field }) => state(field));
  const named = (which: ReturnType<typeof state>) =>
    (byState.get(which) ?? []).map(({ field }) => field).join(', ');
  const back = byState.get('back') ?? [];
  const why = [
    ...(byState.has('changed') ? [`Changed since the cleanup: ${named('changed')}.`] : []),
    ...(byState.has('secret') ? [`Not recorded, or not readable here: ${named('secret')}.`] : []),
    ...(hadSurvey ? [NO_SURVEY] : []),
    ...(back.some(({ field }) => field === 'webhook_service') ? ['Its webhook gets a new key.'] : []),
  ].join(' ');
  const reason = byState.has('changed') ? ('changed_since' as const) : ('not_undoable' as const);
  const kept = why === '' ? null : { reason, why };
  if (back.length === 0) return kept === null ? null : { act: null, changes: [], kept };
  const changes = back.map(
    ({ field, entry, lastEntry }): FieldChange => ({
      field,
      entry,
      lastEntry,
      hidden: true,
      state: 'as_before',
      ...(field === 'webhook_service' && { after: values[field]?.[0] }),
    }),
  );
  const name = nameField(object.kind);
  const [current, left] = back.some(({ field }) => field === name) ? [now[name], values[name]?.[0]] : [];
  const naming = typeof current === 'string' && typeof left === 'string' && { now: current, next: left };
  return { act: { ...act, fields: back }, changes, kept, ...(naming && { naming }) };
}

async function defaultsOf(evidence: Evidence, fields: Fields): ReturnType<Evidence['settingDefaults']> {
  const category = await categoryOf(evidence, fields);
  return await evidence.settingDefaults(fields.map(({ field }) => ({ name: field, category })));
}

type Fields = Extract<CleaningAct, { readonly act: 'restore' }>['fields'];

/** By field: the value that the actor left, and the one before, from the activity stream, if it has them. */
export async function recordedValues(
  evidence: Evidence,
  fields: Fields,
): Promise<Readonly<Record<string, readonly [left: unknown, before: unknown]>>> {
  const ids = new Set(fields.flatMap(({ entry, lastEntry }) => [entry, lastEntry]));
  const entries = await evidence.entries([...ids]);
  const recordedIn = (id: number, field: string): readonly [unknown, unknown] | null => {
    const deed = entries.flatMap((each) => (each.id === id ? [readDeed(each)] : []))[0];
    const recorded = deed?.object.kind === 'setting' ? deed.changes['value'] : deed?.changes[field];
    if (deed?.operation === 'create') return [undefined, recorded];
    return deed?.operation === 'delete' ? [recorded, null] : changeOf(recorded);
  };
  return Object.fromEntries(
    fields.map(({ field, entry, lastEntry }) => [
      field,
      [recordedIn(lastEntry, field)?.[1], recordedIn(entry, field)?.[0]] as const,
    ]),
  );
}

/** The readable fields of an object, or the readable values of settings. */
export async function currentFields(
  evidence: Evidence,
  { object, fields }: Pick<Extract<CleaningAct, { readonly act: 'restore' }>, 'object' | 'fields'>,
): Promise<Readonly<Record<string, unknown>>> {
  if (object.kind === 'setting') {
    const settings = await evidence.settings(fields.map(({ field }) => field));
    return Object.fromEntries(settings ?? []);
  }
  const found = object.id === null ? null : await evidence.objects(object.kind, [object.id]);
  return found?.get(object.id ?? 0)?.fields ?? {};
}

/** The category of a setting, from its entries. */
export async function categoryOf(evidence: Evidence, fields: Fields): Promise<string | null> {
  const entries = await evidence.entries(fields.flatMap(({ entry, lastEntry }) => [entry, lastEntry]));
  return entries.find(({ settingCategory }) => settingCategory !== null)?.settingCategory ?? null;
}
