import { openCleaning } from '../../app/open-evidence.ts';
import { TokenctlError } from '../../domain/errors.ts';
import { notNamed } from '../../domain/investigation/earlier-items.ts';
import { type Investigation, remains } from '../../domain/investigation/investigation.ts';
import { shellWord } from '../../domain/remedies.ts';
import {
  type CleaningReport,
  clean,
  requireMayClean,
  titleOf,
  undoCleaning,
} from '../../operations/investigation/clean.ts';
import { investigate } from '../../operations/investigation/investigate.ts';
import {
  type CleanedItem,
  type CleaningPlan,
  planCleaning,
} from '../../operations/investigation/plan-cleaning.ts';
import { planUndo, type UndoPlan } from '../../operations/investigation/plan-undo.ts';
import { isSameController } from '../../operations/journal/journal.ts';
import type { Evidence } from '../../operations/ports/evidence.ts';
import type { TargetDescription } from '../../operations/ports/target.ts';
import { type Document, lines, list, type Part } from '../../reports/document.ts';
import type { MaybeMade, Report } from '../../reports/result.ts';
import { countText } from '../../reports/tables/text.ts';
import {
  type Begun,
  type ChangeRequest,
  change,
  type Ending,
  notMade,
  type PlannedChange,
} from '../change/change.ts';
import { runLine, stepAmount, stepLines, unfinishedWork } from '../change/ending.ts';
import { subjectOfIncident } from './investigate-flow.ts';
import { readInvestigationFile } from './investigation-file.ts';
import { REMEDIES } from './investigation-text.ts';

type Planned = CleaningPlan['clean'][number];
type Kept = CleaningPlan['keep'][number];

/** Of a plan with `--undo`, the subject and the period are null. */
interface CleaningPlanJson extends MaybeMade<Pick<Investigation, 'subject' | 'since' | 'until'>> {
  readonly incident: string | null;
  /** With `--undo`: the run of the cleaning, in the audit log. */
  readonly undoes: string | null;
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

export interface CleanRequest extends ChangeRequest {
  readonly from: string | undefined;
  /** The run of a cleaning to undo. */
  readonly undo: string | undefined;
  readonly incident: string | undefined;
  readonly since: Date | undefined;
  readonly items: readonly string[] | undefined;
  readonly rules: readonly string[] | undefined;
  /** The context of the REST API beside a database. */
  readonly restContext: string | undefined;
}

/**
 * Plans, confirms, cleans, reads again and reports.
 *
 * @throws TokenctlError `usage`, `not_confirmed`, and the errors of the operations.
 */
export async function cleanFlow(request: CleanRequest): Promise<Report<CleaningJson>> {
  const { runtime, undo } = request;
  if (undo !== undefined) return await undoFlow(request, undo);
  if (request.from === undefined && request.incident === undefined) {
    throw new TokenctlError('usage', 'No investigation selected', {
      hint: 'Add --from FILE or --incident ID.',
    });
  }
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
    return await change(
      request,
      cleaningChange(plan, { description, clean: (opened) => clean({ ...opened, plan, evidence }) }),
    );
  } finally {
    await close();
  }
}

/** Undoes a cleaning: plans, confirms, acts, reads again and reports. */
async function undoFlow(request: CleanRequest, run: string): Promise<Report<CleaningJson>> {
  const { runtime, items, restContext } = request;
  const { evidence, ways, restProblem, close } = await openCleaning(runtime, restContext);
  try {
    const [log, description] = [await runtime.auditLog(), await runtime.description()];
    const plan = await planUndo({ log, description, evidence, run, items, ways, restProblem });
    return await change(
      request,
      cleaningChange(plan, { description, clean: (opened) => undoCleaning({ ...opened, plan, evidence }) }),
    );
  } finally {
    await close();
  }
}

type AnyPlan = CleaningPlan | UndoPlan;

function isUndo(plan: AnyPlan): plan is UndoPlan {
  return 'undoes' in plan;
}

/** What a cleaning, or the undoing of one, shows, does and reports. */
function cleaningChange(
  plan: AnyPlan,
  options: {
    readonly description: TargetDescription;
    readonly clean: (opened: Begun) => Promise<CleaningReport>;
  },
): PlannedChange<CleaningReport, CleaningJson> {
  const { description } = options;
  const items = countText(plan.clean.length, 'item');
  const document = planDocument(plan);
  return {
    plan: document,
    question:
      plan.clean.length === 0
        ? null
        : {
            act: `${isUndo(plan) ? 'undo the cleaning of' : 'clean'} ${items}`,
            type: String(plan.clean.length),
          },
    require: () => requireMayClean(description),
    nothing: () => ({
      document,
      failure: unfinishedWork({
        interrupted: false,
        stopped: null,
        left: leftText(plan, null),
        open: leftOver(plan).length > 0,
        hint: BY_HAND,
      }),
    }),
    act: async (begin) => options.clean(await begin()),
    ended: (done) => cleaningEnding(plan, done),
    json: ({ dryRun, done }) => ({
      dryRun,
      plan: planJson(plan),
      ...(done ?? notMade('result steps interrupted stopped run')),
      left: done?.left?.map(({ id }) => id) ?? null,
    }),
  };
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
  return await investigate({ ...common, ...(await subjectOfIncident(runtime, incident ?? '')), since });
}

/**
 * A file is cleaned for what it lists: what was found since is not in it. What the stream no longer has is not known, and not taken
 * for cleaned.
 */
function chosen(now: Investigation, saved: Investigation | undefined): Investigation {
  if (saved === undefined) return now;
  const listed = new Set(saved.items.map(({ id }) => id));
  const lost = notNamed(saved.items, now).filter(remains);
  return { ...now, items: [...now.items.filter(({ id }) => listed.has(id)), ...lost] };
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

const BY_HAND = 'Do what the lines of these items say.';
const AGAIN_AND_BY_HAND = 'Run the same command again, and do what is listed under "Needs manual action".';

function planJson(plan: AnyPlan): CleaningPlanJson {
  const { clean: planned, keep } = plan;
  const { incident, ...about } = isUndo(plan)
    ? { incident: plan.incident, subject: null, since: null, until: null, undoes: plan.undoes }
    : { ...plan.investigation, undoes: null };
  const { subject, since, until, undoes } = about;
  return {
    ...{ subject, since, until, incident, undoes },
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

function planDocument(plan: AnyPlan): Document {
  const { clean: planned } = plan;
  const [none, would] = isUndo(plan)
    ? ['Nothing to undo.', `Would undo, of the cleaning ${plan.undoes},`]
    : ['No items to clean.', 'Would clean'];
  const final = planned.filter(({ act }) => !act.undoable).length;
  return [
    lines(
      planned.length === 0
        ? none
        : `${would} ${countText(planned.length, 'item')}${final === 0 ? '' : `, ${final} of them not undoable`}:`,
      list(...planned.map((each) => `${titleOf(each)}${notesOf(each)} [${each.item.id}]`)),
    ),
    keepPart(plan),
  ];
}

/** What to know of an act before it is confirmed. */
function notesOf({ act, way }: Planned): string {
  const notes = [
    ...(act.undoable ? [] : ['not undoable']),
    ...(act.act === 'restore' && act.survey !== null ? ['the survey is not undoable'] : []),
    ...(act.act === 'restore' && act.newWebhookKey !== null
      ? ['the key of the webhook is not undoable']
      : []),
    ...(way.isTarget ? [] : [`over REST, context ${way.context}`]),
  ];
  return notes.length === 0 ? '' : ` (${notes.join('; ')})`;
}

function keepPart(plan: AnyPlan): Part {
  const { keep } = plan;
  return lines(
    keep.length > 0 &&
      `${isUndo(plan) ? 'Not undone' : 'Needs manual action'}: ${countText(keep.length, 'item')}.`,
    keep.map(({ item: { id, risk, summary, remedy }, why }) => [
      { mark: risk ?? '-', text: `${summary} [${id}]` },
      { text: why, depth: 3 },
      remedy !== null &&
        remedy.text !== why && { text: `${REMEDIES[remedy.kind]}: ${remedy.text}`, depth: 3 },
    ]),
  );
}

function cleaningEnding(plan: AnyPlan, done: CleaningReport): Ending {
  const { result, steps, left, run, interrupted, stopped } = done;
  const undoes = isUndo(plan);
  const number = steps.filter((step) => step.result === 'done' || step.result === 'unchanged').length;
  return {
    document: [
      lines(
        `${WORDS[undoes ? 'undone' : 'cleaned'][result]}: ${number} of ${countText(plan.clean.length, 'item')}.`,
        stepLines(steps),
        left === null && 'Not verified: what remains was not read.',
        left?.length === 0 &&
          (undoes
            ? 'Verified: these items are as before the cleaning.'
            : 'Verified: none of these items remains.'),
        left?.map(({ summary, id }) => `${undoes ? 'NOT UNDONE' : 'REMAINS'}: ${summary} [${id}]`),
      ),
      keepPart(plan),
      lines(
        !isUndo(plan) &&
          plan.clean.some(({ act }) => act.undoable) &&
          `To undo what can be undone: tokenctl incident clean --context ${shellWord(plan.investigation.target.context)} --undo ${run}`,
        runLine(run),
      ),
    ],
    amount: stepAmount(steps),
    failure: unfinishedWork({
      interrupted,
      stopped,
      left: leftText(plan, done),
      open: result === 'partly' || leftOver(plan).length > 0,
      hint: hintFor(plan, done),
    }),
  };
}

/** What to do about what is left; undefined where running the command again is all there is to do. */
function hintFor(plan: AnyPlan, done: CleaningReport): string | undefined {
  if (leftOver(plan).length === 0) return undefined;
  const again = unfinished(plan, done);
  return again !== null && again.length === 0 ? BY_HAND : AGAIN_AND_BY_HAND;
}

/**
 * The planned items that running the command again may end; null if what remains was not read. An item of which all that is possible
 * was restored remains for what is listed as manual action.
 */
function unfinished({ keep }: AnyPlan, { left, steps }: CleaningReport): readonly CleanedItem[] | null {
  const byHand = new Set(keep.flatMap(({ item, reason }) => (reason === 'by_hand' ? [item.id] : [])));
  const restored = steps.flatMap(({ step, result }) =>
    (result === 'done' || result === 'unchanged') && byHand.has(step) ? [step] : [],
  );
  return left?.filter(({ id }) => !restored.includes(id)) ?? null;
}

/** What is left to do by hand. What cannot be undone is not counted: the plan of the cleaning said so. */
function leftOver({ keep }: AnyPlan): readonly Kept[] {
  return keep.filter(({ reason }) => reason !== 'not_undoable');
}

function leftText(plan: AnyPlan, done: CleaningReport | null): string {
  const keep = leftOver(plan);
  const left = done === null ? 0 : (unfinished(plan, done)?.length ?? null);
  const parts = [
    ...(left === null
      ? ['what remains was not read']
      : left === 0
        ? []
        : [`${countText(left, 'item')} of the plan ${remainText(plan, left)}`]),
    ...(keep.length === 0
      ? []
      : [`${countText(keep.length, 'item')} ${isUndo(plan) ? 'cannot be undone' : 'left to do by hand'}`]),
  ];
  return parts.length === 0
    ? `Not everything was ${isUndo(plan) ? 'undone' : 'cleaned'}`
    : parts.join('; ').replace(/^./, (first) => first.toUpperCase());
}

function remainText(plan: AnyPlan, items: number): string {
  if (isUndo(plan)) return items === 1 ? 'is not undone' : 'are not undone';
  return items === 1 ? 'remains' : 'remain';
}

const WORDS = {
  cleaned: { done: 'Cleaned', partly: 'Partly cleaned' },
  undone: { done: 'Undone', partly: 'Partly undone' },
} as const;
