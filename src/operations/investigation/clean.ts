import { TokenctlError } from '../../domain/errors.ts';
import { asWritten, cleaningOf } from '../../domain/investigation/cleaning.ts';
import { objectText } from '../../domain/investigation/collect-items.ts';
import { changeOf, readDeed } from '../../domain/investigation/deed.ts';
import type { Investigation, InvestigationItem } from '../../domain/investigation/investigation.ts';
import { isMasked } from '../../domain/investigation/recorded-values.ts';
import { type StepReport, type StepResult, stage, takeStep } from '../incident/step.ts';
import { Journal } from '../journal/journal.ts';
import { type Change, OperationRun, type Stopped } from '../journal/operation-run.ts';
import { reconcile } from '../journal/reconcile.ts';
import type { Cleaner, Evidence } from '../ports/evidence.ts';
import { investigate } from './investigate.ts';
import type { CleaningPlan, PlannedCleaning } from './plan-cleaning.ts';

/** What a cleaning did. */
export interface CleaningReport {
  /** `done` if every item that was planned is verified not to remain. */
  readonly result: 'done' | 'partly';
  /** By item. */
  readonly steps: readonly StepReport[];
  /** The items that were planned and remain, when read again; null if that was not reached. */
  readonly left: readonly InvestigationItem[] | null;
  readonly interrupted: boolean;
  readonly stopped: Stopped | null;
  readonly run: string;
}

/** What a cleaning works with. */
export interface CleanOptions extends Change {
  readonly plan: CleaningPlan;
  readonly evidence: Evidence;
  readonly cleaner: Cleaner;
}

/**
 * Ends the items of a plan, each recorded before and after, then investigates again and says which remain. Running it again
 * finishes the work: what is ended already is in no new plan.
 *
 * @throws TokenctlError `audit_unavailable` before anything was done; `outcome_unrecorded` after something was; what the target
 * throws where nothing could be tried.
 */
export async function clean(options: CleanOptions): Promise<CleaningReport> {
  const { target, plan, signal } = options;
  const { incident, subject } = plan.investigation;
  const journal = new Journal({ ...options, operation: 'incident.clean' });
  await reconcile(options);
  using _lock = await journal.lock();
  const work = new OperationRun({ target, journal, signal });
  const common = incident === null ? {} : { incident };
  const opening = await journal.opening({
    step: 'operation',
    ...common,
    subject,
    planned: { items: plan.clean.map(({ item }) => item.id), kept: plan.keep.length },
  });
  const steps: StepReport[] = [];
  for (const planned of plan.clean) steps.push(await cleanItem(work, { planned, options, common }));
  let left: readonly InvestigationItem[] | null = null;
  const [failed] = await stage(work, { name: 'verify', title: 'Reading what remains' }, async () => {
    left = remaining(plan, await repeated(options));
    return [];
  });
  if (failed !== undefined) steps.push(failed);
  const report: CleaningReport = {
    result: resultOf(steps, left),
    steps,
    left,
    interrupted: work.interrupted,
    stopped: work.stopReason,
    run: journal.run,
  };
  await journal.outcome(opening, {
    step: 'operation',
    ...common,
    result: report.result,
    steps: steps.map(({ step, result }) => ({ step, result })),
    left: (left as readonly InvestigationItem[] | null)?.map(({ id }) => id) ?? null,
    interrupted: report.interrupted,
  });
  if (work.stopped !== null && !work.acted) throw work.stopped;
  return report;
}

function resultOf(
  steps: readonly StepReport[],
  left: readonly InvestigationItem[] | null,
): CleaningReport['result'] {
  const isDone = steps.every(({ result }) => result === 'done' || result === 'unchanged');
  return isDone && left !== null && left.length === 0 ? 'done' : 'partly';
}

/** The same investigation, as it is now. */
function repeated(options: Omit<CleanOptions, 'cleaner'>): Promise<Investigation> {
  const { target, evidence, description, clock, plan } = options;
  const { incident } = plan.investigation;
  return investigate({ target, evidence, description, clock, incident, repeats: plan.investigation });
}

/** The planned items that remain: those for which the same act would be planned again. */
function remaining({ clean: planned }: CleaningPlan, now: Investigation): InvestigationItem[] {
  return now.items.filter((item) => {
    const before = planned.find((each) => each.item.id === item.id);
    return before !== undefined && cleaningOf(item)?.act === before.act.act;
  });
}

async function cleanItem(
  work: OperationRun,
  {
    planned,
    options,
    common,
  }: { readonly planned: PlannedCleaning; readonly options: CleanOptions; readonly common: object },
): Promise<StepReport> {
  const { item, act } = planned;
  return await takeStep(work, {
    name: item.id,
    title: titleOf(planned),
    common: { ...common, item: item.id },
    intent: { ...act, undoable: planned.undoable, entries: item.entries },
    act: async () => {
      const result = await applied(planned, options);
      return { result, message: `${titleOf(planned)}.`, data: {} };
    },
  });
}

/** What an act does, as a phrase. */
export function titleOf({ item, act, deactivates }: PlannedCleaning): string {
  const { object, other, role } = item;
  const about = objectText(object);
  switch (act.act) {
    case 'delete':
      return `${deactivates ? 'Deactivate' : 'Delete'} ${about}`;
    case 'cancel':
      return `Cancel ${about}`;
    case 'restore': {
      const fields = [
        ...act.fields.map(({ field }) => field),
        ...(act.survey === null ? [] : ['survey_spec']),
      ];
      return object.kind === 'setting' ? `Restore ${about}` : `Restore ${fields.join(', ')} of ${about}`;
    }
    case 'disassociate': {
      const what = role === null ? '' : `${role.field ?? 'a role'} on `;
      return `Remove ${what}${other === null ? 'the system' : objectText(other)} from ${about}`;
    }
  }
}

async function applied(
  { item, act, deactivates }: PlannedCleaning,
  { target, cleaner, evidence }: CleanOptions,
): Promise<StepResult['result']> {
  const { kind, id } = item.object;
  if (act.act === 'delete' && id !== null) {
    if (kind === 'o_auth2_access_token') return await revokeToken(target, id);
    if (kind === 'o_auth2_application')
      return (await target.access.deleteApplication(id)) ? 'done' : 'unchanged';
    if (deactivates) {
      return (await target.setUserActive(id, false)) ? 'done' : 'unchanged';
    }
  }
  return await cleaner.apply(act, act.act === 'restore' ? await valuesBefore(evidence, act.fields) : {});
}

async function revokeToken(target: CleanOptions['target'], id: number): Promise<StepResult['result']> {
  for await (const outcome of target.revoke([id])) {
    if (outcome.result === 'unchanged') return 'unchanged';
    if (outcome.result === 'failed')
      throw new TokenctlError('unsupported', `Token ${id} was not revoked: ${outcome.reason}`);
    return 'done';
  }
  return 'unchanged';
}

/** The values to restore, read from the entries: an investigation has them without secrets, cut. */
async function valuesBefore(
  evidence: Evidence,
  fields: readonly { readonly field: string; readonly entry: number }[],
): Promise<Record<string, unknown>> {
  const entries = await evidence.entries([...new Set(fields.map(({ entry }) => entry))]);
  const values: Record<string, unknown> = {};
  for (const { field, entry } of fields) {
    const deed = entries.flatMap((each) => (each.id === entry ? [readDeed(each)] : []))[0];
    const recorded = deed?.object.kind === 'setting' ? deed.changes['value'] : deed?.changes[field];
    const change = deed?.operation === 'delete' ? ([recorded, null] as const) : changeOf(recorded);
    if (change === null || isMasked(change[0])) {
      throw new TokenctlError(
        'not_found',
        `Entry ${entry} of the activity stream does not have the value of ${field} any more`,
      );
    }
    values[field] = asWritten(field, change[0]);
  }
  return values;
}
