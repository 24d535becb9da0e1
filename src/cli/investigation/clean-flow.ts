import { openCleaning } from '../../app/open-evidence.ts';
import type { Runtime } from '../../app/runtime.ts';
import { TokenctlError } from '../../domain/errors.ts';
import type { Investigation } from '../../domain/investigation/investigation.ts';
import { type CleaningReport, clean, titleOf } from '../../operations/investigation/clean.ts';
import { investigate } from '../../operations/investigation/investigate.ts';
import { type CleaningPlan, planCleaning } from '../../operations/investigation/plan-cleaning.ts';
import { isSameController } from '../../operations/journal/journal.ts';
import type { Evidence } from '../../operations/ports/evidence.ts';
import type { TargetDescription } from '../../operations/ports/target.ts';
import { type MaybeMade, type Report, report } from '../../reports/tables/result.ts';
import { countText, printable } from '../../reports/tables/text.ts';
import type { Confirmation } from '../confirmation.ts';
import { unfinishedWork } from '../errors/failure.ts';
import type { ChangeFlags } from '../flags.ts';
import { stepAmount, stepLines } from '../incident/incident-text.ts';
import { subjectOfIncident } from './investigate-flow.ts';
import { readInvestigationFile } from './investigation-file.ts';

type Planned = CleaningPlan['clean'][number];
type Kept = CleaningPlan['keep'][number];

interface CleaningPlanJson extends Pick<Investigation, 'subject' | 'since' | 'until' | 'incident'> {
  readonly clean: readonly (Pick<Planned['item'], 'id' | 'summary' | 'risk'> &
    Pick<Planned['act'], 'undoable'> & {
      readonly act: Planned['act']['act'];
      /** How, and in which context. */
      readonly via: Planned['way']['via'];
      readonly context: string;
      /** What is set back; empty for other acts. */
      readonly fields: Extract<Planned['act'], { readonly act: 'restore' }>['fields'];
    })[];
  /** What is left, and why. */
  readonly keep: readonly (Pick<Kept['item'], 'id' | 'summary' | 'risk' | 'remedy'> &
    Pick<Kept, 'reason' | 'why'>)[];
}

/** What `incident clean` prints with `--json`. Where nothing was cleaned, the members of the report are null. */
export interface CleaningJson extends MaybeMade<Omit<CleaningReport, 'left'>> {
  readonly dryRun: boolean;
  readonly plan: CleaningPlanJson;
  /** The ids of planned items that remain, when read again; null if that was not reached. */
  readonly left: readonly string[] | null;
}

/** What to clean. */
export interface CleanRequest {
  readonly runtime: Runtime;
  readonly confirmation: Confirmation;
  readonly from: string | undefined;
  readonly incident: string | undefined;
  readonly since: Date | undefined;
  readonly items: readonly string[] | undefined;
  readonly rules: readonly string[] | undefined;
  /** The context of the REST API beside a database. */
  readonly restContext: string | undefined;
  readonly flags: ChangeFlags;
}

/**
 * Plans, confirms, cleans, reads again and reports.
 *
 * @throws TokenctlError `usage`, `not_confirmed`, and the errors of the operations.
 */
export async function cleanFlow(request: CleanRequest): Promise<Report<CleaningJson>> {
  const { runtime, confirmation, flags } = request;
  const saved = request.from === undefined ? undefined : readInvestigationFile(request.from);
  const description = await runtime.description();
  if (saved !== undefined) requireSameController(saved, description);
  const { evidence, ways, restProblem, ownTokens, close } = await openCleaning(runtime, request.restContext);
  try {
    const investigation = await investigateAgain(request, { evidence, description, saved });
    const plan = planCleaning(chosen(investigation, saved), {
      selection: { items: request.items, rules: request.rules },
      ...{ ways, restProblem, ownTokens },
    });
    const dryRun = flags['dry-run'] === true;
    if (dryRun || plan.clean.length === 0) return planResult(plan, dryRun);
    await confirmation.confirm({
      plan: planText(plan),
      act: `clean ${countText(plan.clean.length, 'item')}`,
      type: String(plan.clean.length),
    });
    const done = await clean({ ...(await runtime.change(flags)), plan, evidence });
    return cleaningResult(plan, done);
  } finally {
    await close();
  }
}

async function investigateAgain(
  { runtime, incident, since }: CleanRequest,
  found: {
    readonly evidence: Evidence;
    readonly description: TargetDescription;
    readonly saved: Investigation | undefined;
  },
): Promise<Investigation> {
  const { evidence, description, saved } = found;
  const common = { evidence, description, clock: runtime.clock, target: await runtime.target() };
  if (saved !== undefined)
    return await investigate({ ...common, repeats: saved, incident: incident ?? saved.incident });
  if (incident === undefined) {
    throw new TokenctlError('usage', 'No investigation selected', {
      hint: 'Add --from FILE or --incident ID.',
    });
  }
  return await investigate({ ...common, ...(await subjectOfIncident(runtime, incident)), since });
}

/** A file is cleaned for what it lists: what was found since is not in it. */
function chosen(now: Investigation, saved: Investigation | undefined): Investigation {
  if (saved === undefined) return now;
  const listed = new Set(saved.items.map(({ id }) => id));
  return { ...now, items: now.items.filter(({ id }) => listed.has(id)) };
}

function requireSameController({ target }: Investigation, description: TargetDescription): void {
  const { context, address, installUuid } = target;
  const there = { context, address, ...(installUuid !== null && { installUuid }) };
  if (isSameController(there, description)) return;
  throw new TokenctlError(
    'plan_outdated',
    `The investigation is of ${address}, not of ${description.address}`,
    {
      hint: `Use the context ${context}, or another one of the same controller.`,
    },
  );
}

function planResult(plan: CleaningPlan, dryRun: boolean): Report<CleaningJson> {
  return report({
    json: { dryRun, plan: planJson(plan), ...NOT_MADE },
    text: () => planText(plan) + (dryRun ? 'Dry run. Nothing was changed.\n' : ''),
    failure: unfinishedWork({
      interrupted: false,
      stopped: null,
      left: leftText(plan, null),
      open: !dryRun && plan.keep.length > 0,
      hint: BY_HAND,
    }),
  });
}

const NOT_MADE = { result: null, steps: null, left: null, interrupted: null, stopped: null, run: null };
const BY_HAND = 'Do what the lines of these items say.';

function planJson({ investigation, clean: planned, keep }: CleaningPlan): CleaningPlanJson {
  const { subject, since, until, incident } = investigation;
  return {
    ...{ subject, since, until, incident },
    clean: planned.map(({ item, act, way }) => ({
      ...{ id: item.id, act: act.act, summary: item.summary, risk: item.risk, undoable: act.undoable },
      ...{ via: way.via, context: way.context },
      fields: act.act === 'restore' ? act.fields : [],
    })),
    keep: keep.map(({ item, reason, why }) => ({
      ...{ id: item.id, reason, why, summary: item.summary, risk: item.risk, remedy: item.remedy },
    })),
  };
}

function planText(plan: CleaningPlan): string {
  const { clean: planned, keep } = plan;
  const final = planned.filter(({ act }) => !act.undoable).length;
  const lines = [
    planned.length === 0
      ? 'No items to clean.'
      : `Would clean ${countText(planned.length, 'item')}${final === 0 ? '' : `, ${final} of them not undoable`}:`,
    ...planned.map((each) => `  ${titleOf(each)}${notesOf(each)} [${each.item.id}]`),
    ...keepLines(plan),
  ];
  return `${lines.map(printable.value).join('\n')}${keep.length === 0 && planned.length === 0 ? '' : '\n'}\n`;
}

/** What to know of an act before it is confirmed. */
function notesOf({ act, way }: Planned): string {
  const notes = [
    ...(act.undoable ? [] : ['not undoable']),
    ...(way.isTarget ? [] : [`over REST, context ${way.context}`]),
  ];
  return notes.length === 0 ? '' : ` (${notes.join('; ')})`;
}

function keepLines({ keep }: CleaningPlan): string[] {
  if (keep.length === 0) return [];
  return [
    '',
    `Needs manual action: ${countText(keep.length, 'item')}.`,
    ...keep.flatMap(({ item, why }) => [
      `  ${(item.risk ?? '-').padEnd(8)}  ${item.summary} [${item.id}]`,
      `      ${why}`,
      ...(item.remedy === null || item.remedy.text === why
        ? []
        : [`      ${item.remedy.kind === 'command' ? 'Run' : 'Send'}: ${item.remedy.text}`]),
    ]),
  ];
}

function cleaningResult(plan: CleaningPlan, done: CleaningReport): Report<CleaningJson> {
  return report({
    json: { dryRun: false, plan: planJson(plan), ...done, left: done.left?.map(({ id }) => id) ?? null },
    amount: stepAmount(done.steps),
    text: () => `${resultLines(plan, done).map(printable.value).join('\n')}\n`,
    failure: unfinishedWork({
      interrupted: done.interrupted,
      stopped: done.stopped,
      left: leftText(plan, done),
      open: done.result === 'partly' || plan.keep.length > 0,
      ...(done.result === 'done' && { hint: BY_HAND }),
    }),
  });
}

function leftText({ keep }: CleaningPlan, done: CleaningReport | null): string {
  const left = done?.left?.length ?? (done === null ? 0 : null);
  const parts = [
    ...(left === null
      ? ['what remains was not read']
      : left === 0
        ? []
        : [`${countText(left, 'item')} of the plan remain`]),
    ...(keep.length === 0 ? [] : [`${countText(keep.length, 'item')} left to do by hand`]),
  ];
  return parts.length === 0
    ? 'Not everything was cleaned'
    : parts.join('; ').replace(/^./, (first) => first.toUpperCase());
}

function resultLines(plan: CleaningPlan, { result, steps, left, run }: CleaningReport): string[] {
  const done = steps.filter((step) => step.result === 'done' || step.result === 'unchanged').length;
  return [
    `${result === 'done' ? 'Cleaned' : 'Partly cleaned'}: ${done} of ${countText(plan.clean.length, 'item')}.`,
    ...stepLines(steps),
    ...(left === null
      ? ['Not verified: what remains was not read.']
      : left.length === 0
        ? ['Verified: none of these items remains.']
        : left.map(({ summary, id }) => `REMAINS: ${summary} [${id}]`)),
    ...keepLines(plan),
    `Audit log: run ${run}.`,
  ];
}
