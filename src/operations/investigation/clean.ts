import { TokenctlError } from '@tokenctl/common/errors.ts';
import { asWritten, type CleaningAct, cleaningOf, refusedAct } from '../../domain/investigation/cleaning.ts';
import { inDatabase } from '../../domain/investigation/cleaning-in-database.ts';
import { objectText } from '../../domain/investigation/collect-items.ts';
import {
  type Investigation,
  type InvestigationItem,
  isStillThere,
  type ObjectReference,
  remains,
} from '../../domain/investigation/investigation.ts';
import { interimName } from '../../domain/investigation/kinds.ts';
import { isMasked, isSameValue } from '../../domain/investigation/recorded-values.ts';
import {
  type Change,
  OperationRun,
  type RunEnd,
  type StepReport,
  type StepResult,
} from '../journal/operation-run.ts';
import { endOfNow } from '../ports/clock.ts';
import type { CleaningValues, Evidence } from '../ports/evidence.ts';
import type { TargetDescription } from '../ports/target.ts';
import { requireFullView, requireMayChange } from '../scope/visibility.ts';
import { investigate } from './investigate.ts';
import { type CleanedItem, type CleaningPlan, isOfTarget, type PlannedCleaning } from './plan-cleaning.ts';
import { categoryOf, currentFields, planUndo, recordedValues, type UndoPlan } from './plan-undo.ts';

export interface CleaningReport extends RunEnd {
  /**
   * `done` if every planned item is verified as gone, and nothing new appeared after the plan. For an undo,
   * if each item is as it was before the cleaning.
   */
  readonly result: 'done' | 'partly';
  readonly steps: readonly StepReport[];
  /** The planned items that remain after re-reading; null if that was not reached. */
  readonly left: readonly CleanedItem[] | null;
  /** Remaining items that appeared after the plan: the intruder may still be active. Null as `left`. */
  readonly later: readonly CleanedItem[] | null;
}

/** The results of re-reading after a run. */
type ReadAgain = { readonly [Each in 'left' | 'later']: readonly CleanedItem[] };

export interface CleanOptions extends Change {
  readonly plan: CleaningPlan;
  readonly evidence: Evidence;
}

/**
 * Ends the items of a plan, each recorded before and after, then investigates again and reports which remain.
 * Running it again finishes the work: items already ended are not in a new plan.
 * @throws TokenctlError as any {@link OperationRun}.
 */
export function clean(options: CleanOptions): Promise<CleaningReport> {
  const { plan } = options;
  const { incident, subject, chain } = plan.investigation;
  const userIds = chain.flatMap(({ user, how }) => (how === 'subject' ? (user.id ?? []) : []));
  return carryOut(options, {
    operation: 'incident.clean',
    plan,
    stated: { subject, userIds, since: plan.investigation.since },
    common: incident === null ? {} : { incident },
    readAgain: async () => remaining(plan, await repeated(options)),
  });
}

/**
 * Undoes what a cleaning did, except where something changed since, each item recorded before and after. Then
 * re-reads the items and reports which are not as before the cleaning. Running it again finishes the work.
 * @throws TokenctlError as {@link clean}.
 */
export function undoCleaning(
  options: Omit<CleanOptions, 'plan'> & { readonly plan: UndoPlan },
): Promise<CleaningReport> {
  const { plan } = options;
  const { incident, undoes } = plan;
  return carryOut(options, {
    operation: 'incident.clean-undo',
    plan,
    stated: {},
    common: { ...(incident !== null && { incident }), undoes },
    readAgain: async () => {
      const ids = new Set(plan.clean.map(({ item }) => item.id));
      const known = new Set(plan.keep.map(({ item, reason }) => `${item.id} ${reason}`));
      const again = await planUndo({ ...options, ...plan.request });
      const fresh = again.keep.filter(({ item, reason }) => !known.has(`${item.id} ${reason}`));
      const left = [...again.clean, ...fresh].map(({ item }) => item).filter(({ id }) => ids.has(id));
      return { left, later: [] };
    },
  });
}

/**
 * Refuses an account that may change nothing or could not verify what it cleaned.
 * @throws TokenctlError `permission_refused`
 */
export function requireMayClean(description: TargetDescription): void {
  requireFullView(description, 'Cleanup after an incident');
  requireMayChange(description);
}

interface CleaningRun {
  readonly operation: string;
  readonly plan: Pick<CleaningPlan, 'clean' | 'keep'>;
  /** Data for all entries. */
  readonly common: Readonly<Record<string, unknown>>;
  /** Data for the first entry, in addition to the plan. */
  readonly stated: Readonly<Record<string, unknown>>;
  readonly readAgain: () => Promise<ReadAgain>;
}

async function carryOut(
  options: Omit<CleanOptions, 'plan'>,
  { operation, plan, common, stated, readAgain }: CleaningRun,
): Promise<CleaningReport> {
  requireMayClean(options.description);
  using work = new OperationRun(options, operation);
  await work.open({
    ...common,
    ...stated,
    planned: { items: plan.clean.map(({ item }) => item.id), kept: plan.keep.length },
    ...unconfirmedIn(plan),
  });
  for (const planned of plan.clean) work.steps.push(await cleanItem(work, { planned, options, common }));
  let read: ReadAgain | null = null;
  await work.take({ name: 'verify', title: 'Reading what remains' }, async () => {
    read = await readAgain();
    return [];
  });
  const { left, later } = (read as ReadAgain | null) ?? { left: null, later: null };
  const report: CleaningReport = {
    result: work.isWhole && left?.length === 0 && later?.length === 0 ? 'done' : 'partly',
    steps: work.steps,
    ...{ left, later },
    ...work.ending(false),
  };
  await work.close({
    ...common,
    result: report.result,
    steps: work.stepsRecorded,
    left: left?.map(({ id }) => id) ?? null,
    ...(later !== null && later.length > 0 && { later: later.map(({ id }) => id) }),
    interrupted: report.interrupted,
  });
  return report;
}

/** Irreversible items that were left because they were not confirmed: a lift reports them. */
function unconfirmedIn({ keep }: CleaningRun['plan']): Readonly<Record<string, unknown>> {
  const left = keep.filter(({ reason }) => reason === 'irreversible');
  const unconfirmed = left.map(({ item: { id, summary } }) => ({ item: id, summary }));
  return unconfirmed.length === 0 ? {} : { unconfirmed };
}

/** The same investigation, repeated up to now. */
function repeated(options: CleanOptions): Promise<Investigation> {
  const { target, evidence, description, clock, plan } = options;
  const { incident } = plan.investigation;
  const until = endOfNow(clock, description);
  return investigate({ target, evidence, description, clock, incident, repeats: plan.investigation, until });
}

/**
 * The planned items that remain: those that would be planned again with the same action, were partly
 * restored, or could not be re-read; and items that did not exist when the plan was made.
 */
function remaining({ clean: planned, known }: CleaningPlan, now: Investigation): ReadAgain {
  const left = now.items.filter((item) => {
    const before = planned.find((each) => each.item.id === item.id);
    if (before === undefined) return false;
    const isUnsure = item.state === 'unknown' || (before.act.act === 'restore' && isStillThere(item));
    return isUnsure || actNow(item, before)?.act === before.act.act;
  });
  return { left, later: now.items.filter((item) => remains(item) && !known.has(item.id)) };
}

function actNow(item: InvestigationItem, { way }: PlannedCleaning): CleaningAct | null {
  const now = cleaningOf(item);
  if (now === null || now.act === 'manual') return null;
  const act = way.via === 'database' ? inDatabase(item, now) : now;
  return 'act' in act ? act : null;
}

async function cleanItem(
  work: OperationRun,
  {
    planned,
    options,
    common,
  }: { planned: PlannedCleaning; options: Omit<CleanOptions, 'plan'>; common: object },
): Promise<StepReport> {
  const { item, act, way } = planned;
  const elsewhere = way.isTarget ? {} : { via: { context: way.context, address: way.description.address } };
  return await work.step({
    name: item.id,
    title: titleOf(planned),
    common: { ...common, item: item.id },
    intent: {
      ...act,
      ...elsewhere,
      summary: item.summary,
      entries: item.entries,
      about: { object: item.object, other: item.other, role: item.role },
    },
    act: async () => {
      const result = await applied(planned, options);
      return { result, message: `${titleOf(planned)}${isLate(planned) ? LATE : ''}.`, data: {} };
    },
  });
}

/** A setting in a table: running servers re-read it. */
const LATE = ', which running servers may take up to a minute to apply';

function isLate({ act, way }: PlannedCleaning): boolean {
  return way.via === 'database' && act.act === 'restore' && act.object.kind === 'setting';
}

/** The action as a phrase. */
export function titleOf({ item, act }: Pick<PlannedCleaning, 'item' | 'act'>): string {
  const { object, other, role } = item;
  const about = objectText(object);
  switch (act.act) {
    case 'delete':
    case 'unassign':
      return `Delete ${about}`;
    case 'assign':
      return `Make ${about} again`;
    case 'rename':
      return `Rename ${about} to ${act.name} until swapped names are restored`;
    case 'disable':
      return `${act.field === 'is_active' ? 'Deactivate' : 'Disable'} ${about}`;
    case 'enable':
      return `${act.field === 'is_active' ? 'Activate' : 'Enable'} ${about}`;
    case 'cancel':
      return `Cancel ${about}`;
    case 'restore':
      return restoreTitle(act, object);
    case 'disassociate':
    case 'associate': {
      const what = role === null ? '' : `${role.field ?? 'a role'} on `;
      const [verb, to] = act.act === 'associate' ? ['Give back', 'to'] : ['Remove', 'from'];
      return `${verb} ${what}${other === null ? 'the system' : objectText(other)} ${to} ${about}`;
    }
  }
}

function restoreTitle(act: Extract<CleaningAct, { readonly act: 'restore' }>, object: ObjectReference) {
  const about = objectText(object);
  const fields = [...act.fields.map(({ field }) => field), ...(act.survey === null ? [] : ['survey_spec'])];
  const verb = act.to === 'after' ? 'Revert' : act.isDefault ? 'Reset' : 'Restore';
  return object.kind === 'setting' ? `${verb} ${about}` : `${verb} ${fields.join(', ')} of ${about}`;
}

async function applied(planned: PlannedCleaning, { target, evidence }: Omit<CleanOptions, 'plan'>) {
  const { item, act, way } = planned;
  const { kind, id } = act.object;
  if (isOfTarget(planned) && id !== null) {
    if (kind === 'o_auth2_access_token') return await revokeToken(target, id);
    if (kind === 'user')
      return (await target.users.setActive(id, act.act === 'enable')) ? 'done' : 'unchanged';
    return (await target.applications.delete(id)) ? 'done' : 'unchanged';
  }
  const entry = item.entries.at(-1) ?? null;
  if (act.act !== 'restore') return await way.cleaner.apply(act, { ...NO_VALUES, entry });
  const values = await valuesOf(evidence, act);
  return await way.cleaner.apply(act, { ...values, entry });
}

const NO_VALUES = { write: {}, expected: {}, recorded: {}, category: null };

/** With its refresh token if possible: 24.6.1 issues nothing for a remaining one, but it stays live. */
async function revokeToken(target: CleanOptions['target'], id: number): Promise<StepResult['result']> {
  for await (const outcome of target.revoke([id], {
    withRefreshTokens: target.refreshTokens !== undefined,
  })) {
    if (outcome.result === 'unchanged') return 'unchanged';
    if (outcome.result === 'failed')
      throw refusedAct(`Token ${id} was not revoked: ${outcome.reason}`, 'changed');
    return 'done';
  }
  return 'unchanged';
}

/**
 * The values to restore, read from the entries: an investigation has them truncated and without secrets.
 * Readable values must be as the intruder left them.
 */
async function valuesOf(
  evidence: Evidence,
  { object, fields, to, isDefault }: Extract<CleaningAct, { readonly act: 'restore' }>,
): Promise<Omit<CleaningValues, 'entry'>> {
  const values = await recordedValues(evidence, fields);
  const isReset = isDefault && to === 'before';
  const now = await currentFields(evidence, { object, fields });
  const write: Record<string, unknown> = {};
  const expected: Record<string, unknown> = {};
  const recorded: Record<string, readonly [unknown, unknown]> = {};
  for (const { field, entry } of fields) {
    const [left, before] = values[field] ?? [];
    const [from, value] = to === 'before' ? [left, before] : [before, left];
    if (!isReset && (value === undefined || isMasked(value))) {
      throw new TokenctlError(
        'not_found',
        `Entry ${entry} of the activity stream is missing the value of ${field}`,
      );
    }
    const current = now[field];
    if (current !== undefined && !isMasked(current)) {
      const isComparable = from !== undefined && !isMasked(from) && current !== interimName(object);
      if (isComparable && !isSameValue(field, from, current)) {
        throw refusedAct(`${field} has changed since the plan was made`, 'changed');
      }
      expected[field] = current;
    }
    if (!isReset) write[field] = asWritten(field, value);
    recorded[field] = [from, value];
  }
  return { write, expected, recorded, category: isReset ? await categoryOf(evidence, fields) : null };
}
