import type { TokenctlError } from '@tokenctl/common/errors.ts';
import { someOf } from '@tokenctl/common/text.ts';
import { objectText } from '../../domain/investigation/collect-items.ts';
import { shellWord } from '../../domain/remedies.ts';
import { type CleaningReport, titleOf } from '../../operations/investigation/clean.ts';
import { type CleaningPlan, isIrreversible } from '../../operations/investigation/plan-cleaning.ts';
import type { UndoPlan } from '../../operations/investigation/plan-undo.ts';
import {
  type Document,
  good,
  type Line,
  type Lines,
  lines,
  list,
  type Part,
  warning,
  would,
} from '../../reports/document.ts';
import { remedyText, setBackText } from '../../reports/incident/item-words.ts';
import { countText, secondText } from '../../reports/tables/text.ts';
import type { Ending } from '../change/change.ts';
import { runLine, stepLines, unfinishedWork } from '../change/ending.ts';

type Planned = CleaningPlan['clean'][number];
type Kept = CleaningPlan['keep'][number];

export type AnyPlan = CleaningPlan | UndoPlan;

export function isUndo(plan: AnyPlan): plan is UndoPlan {
  return 'undoes' in plan;
}

const BY_HAND = 'Follow the instructions in these lines.';
const INVESTIGATE_AGAIN =
  'The account is still making changes, or was until now. Investigate again, and clean the new items.';
const AGAIN_AND_BY_HAND =
  'Run the same command again, and follow the instructions under "Needs manual action".';

/** The level of detail per item. */
interface Detail {
  /** Whether the author and id are already shown next to the text, and one confirmation covers everything. */
  readonly isBrief: boolean;
}

/** What a cleaning or its undo would do, with the start of its period, as sentences. */
export function planDocument(
  plan: AnyPlan,
  { beginning, isBrief }: Detail & { beginning: readonly string[] },
): Document {
  const { clean: planned } = plan;
  const plannedLines = isBrief ? briefLines : wholeLines;
  const [none, act] = isUndo(plan)
    ? ['Nothing to undo.', `undo the cleanup ${plan.undoes},`]
    : ['No items to clean.', 'clean'];
  const final = planned.filter(isIrreversible);
  const isMixed = final.length > 0 && (isBrief || final.length < planned.length);
  const later = planned.filter((each) => !isIrreversible(each));
  // The number of items in a plan: an item that needs two actions counts once.
  const items = new Set(plan.clean.map(({ item }) => item.id)).size;
  return [
    lines(beginning.length > 0 && [...beginning]),
    lines(
      items === 0
        ? none
        : {
            ...would`${act} ${countText(items, 'item')}${final.length === 0 ? '' : `, ${final.length} of them permanently${isBrief ? '' : ', after a second confirmation'}`}:`,
            // The titles of the two lists say it.
            inConsole: isBrief && final.length > 0 && !isUndo(plan) ? '' : undefined,
          },
      !isMixed && list(...planned.map(plannedLines)),
    ),
    isMixed && later.length > 0 && lines('Can be undone later:', list(...later.map(plannedLines))),
    isMixed && lines('Cannot be undone:', list(...final.map(isBrief ? briefLines : titledLines))),
    keepPart(plan),
  ];
}

/** Irreversible actions, above the question about them. */
export function irreversibleDocument(final: readonly Planned[]): Document {
  return [lines('This cannot be undone:', list(...final.map(titledLines)))];
}

/** An action with its item's author, and the values that it restores. */
function wholeLines(planned: Planned): Lines {
  return [`${actText(planned, { isBrief: false })}${whoseText(planned)}`, setBackLine(planned)];
}

/** The same under a title that says that it cannot be undone. */
function titledLines(planned: Planned): Lines {
  return [`${actText(planned, { isBrief: true })}${whoseText(planned)}`, setBackLine(planned)];
}

function whoseText({ item }: Planned): string {
  return `${authorText(item)} [${item.id}]`;
}

/** Irreversible actions have a title that says so. */
function briefLines(planned: Planned): Lines {
  return [actText(planned, { isBrief: true }), setBackLine(planned)];
}

/** The values that it restores. */
function setBackLine(planned: Planned): Line | null {
  const text = setBackText(planned);
  return text === null ? null : { text, depth: 2 };
}

function actText(planned: Planned, { isBrief }: Detail): string {
  return `${titleOf(planned)}${notesOf(planned, { isBrief })}`;
}

/** Who worked on an item, and when. */
function authorText({ by = [], first, last }: Planned['item']): string {
  if (first === undefined) return '';
  const who = by.length === 0 ? 'by an unknown user' : `by ${by.map(({ username }) => username).join(', ')}`;
  const [from, to] = [secondText(first), secondText(last ?? first)];
  return `: ${who}, ${from}${to === from ? '' : ` to ${to}`}`;
}

/** The failure if there is nothing to do although items remain. */
export function nothingFailure(plan: AnyPlan): TokenctlError | undefined {
  return unfinishedWork({
    interrupted: false,
    stopped: null,
    hint: BY_HAND,
    left: leftText(plan, null),
    open: leftOver(plan).length > 0,
  });
}

/** What to know about an action before it is confirmed. */
function notesOf({ act, way }: Planned, { isBrief }: Detail): string {
  const notes = [
    ...(act.undoable || isBrief ? [] : ['not undoable']),
    ...(act.act === 'restore' && act.survey !== null ? ['the survey cannot be restored'] : []),
    ...(act.act === 'restore' && act.newWebhookKey !== null ? ['the webhook key cannot be restored'] : []),
    ...(way.isTarget ? [] : [`over REST, context ${way.context}`]),
  ];
  return notes.length === 0 ? '' : ` (${notes.join('; ')})`;
}

function keepPart(plan: AnyPlan): Part {
  const keep = plan.keep.filter(({ reason }) => reason !== 'legitimate' && reason !== 'handed_over');
  const legitimate = plan.keep.filter(({ reason }) => reason === 'legitimate').length;
  const handed = plan.keep.filter(({ reason }) => reason === 'handed_over');
  return lines(
    legitimate > 0 && `Skipped because marked as legitimate: ${countText(legitimate, 'item')}.`,
    handed.length > 0 && [
      `Skipped because reassigned: ${countText(handed.length, 'item')}.`,
      ...list(...handed.map(({ item, why }) => `${item.summary} [${item.id}]. ${why}`)),
    ],
    keep.length > 0 &&
      (isUndo(plan)
        ? `Not undone: ${countText(keep.length, 'item')}.`
        : warning`Needs manual action: ${countText(keep.length, 'item')}.`),
    keep.map(({ item, item: { id, risk, summary, remedy }, why }) => [
      { mark: risk ?? '-', text: `${summary}${authorText(item)} [${id}]` },
      { text: why, depth: 3 },
      remedy !== null && remedy.text !== why && { text: remedyText(remedy), depth: 3 },
    ]),
  );
}

/** The results of the planned items, each counted once. */
export interface CleaningCounts {
  readonly planned: number;
  /** Verified as gone; or done, if nothing was re-read. */
  readonly ended: number;
  /** Done as far as possible: the rest is left to be done manually. */
  readonly inPart: number;
  /** Not done, or done and found to remain. */
  readonly remaining: number;
  /** Left to be done manually, including those that were partly done. */
  readonly byHand: number;
}

export function countsOf(plan: AnyPlan, done: CleaningReport): CleaningCounts {
  const planned = new Set(plan.clean.map(({ item }) => item.id));
  const byHand = new Set(leftOver(plan).map(({ item }) => item.id));
  const { failed, remains } = unendedIn(done);
  const unended = [...planned].filter((id) => failed.has(id) || remains.has(id));
  const inPart = unended.filter((id) => !failed.has(id) && byHand.has(id)).length;
  const remaining = unended.length - inPart;
  return {
    planned: planned.size,
    ended: planned.size - unended.length,
    inPart,
    remaining,
    byHand: byHand.size,
  };
}

/** The ids of items that were not done, and of those that remain after re-reading. */
function unendedIn({ steps, left }: CleaningReport) {
  const failed = steps.filter(({ result }) => result !== 'done' && result !== 'unchanged');
  return { failed: new Set(failed.map(({ step }) => step)), remains: new Set(left?.map(({ id }) => id)) };
}

/** Items verified as switched off only: they can be switched on again. Empty if there are none. */
function switchedOffText(plan: AnyPlan, done: CleaningReport): string {
  const { failed, remains } = unendedIn(done);
  const off = plan.clean.filter(
    ({ item: { id }, act }) => act.act === 'disable' && !remains.has(id) && !failed.has(id),
  );
  if (off.length === 0) return '';
  const named = off.map(({ item }) => objectText(item.object));
  return `Turned off, not deleted: ${someOf(named, MOST_NAMED)}.`;
}

const MOST_NAMED = 20;

function countsText(plan: AnyPlan, done: CleaningReport): string {
  const { planned, ended, inPart, remaining } = countsOf(plan, done);
  const rest = [
    ...(remaining === 0 ? [] : [`${remaining} ${remainText(plan, remaining)}`]),
    ...(inPart === 0 ? [] : [`${inPart} in part. The rest is listed under "Needs manual action"`]),
  ];
  const more = rest.length === 0 ? '' : ` ${rest.join('; ')}.`;
  return `${WORDS[isUndo(plan) ? 'undone' : 'cleaned'][done.result]}: ${ended} of ${countText(planned, 'item')}.${more}`;
}

export function cleaningEnding(plan: AnyPlan, done: CleaningReport, { isBrief }: Detail): Ending {
  const { result, steps, left, later, run, interrupted, stopped } = done;
  const undoes = isUndo(plan);
  const counts = countsOf(plan, done);
  return {
    document: [
      lines(
        countsText(plan, done),
        stepLines(steps),
        left === null && warning`Not verified: whether anything remains was not checked.`,
        left?.length === 0 &&
          (undoes
            ? good`Verified: these items are as before the cleanup.`
            : good`Verified: these items are ended.`),
        left !== null && !undoes && switchedOffText(plan, done),
        left?.map(({ summary, id }) => `${undoes ? 'NOT UNDONE' : 'REMAINS'}: ${summary} [${id}]`),
        later?.map((item) => `NEW SINCE THE PLAN: ${item.summary}${authorText(item)} [${item.id}]`),
      ),
      keepPart(plan),
      lines(
        !isBrief &&
          !isUndo(plan) &&
          plan.clean.some(({ act }) => act.undoable) && {
            text: 'To undo what can be undone:',
            commands: [
              `tokenctl incident clean --context ${shellWord(plan.investigation.target.context)} --undo ${run}`,
            ],
          },
        runLine(run),
      ),
    ],
    amount: { what: 'step', planned: counts.planned, done: counts.ended },
    failure: unfinishedWork({
      interrupted,
      stopped,
      left: leftText(plan, done),
      open: result === 'partly' || leftOver(plan).length > 0,
      hint: hintFor(plan, done),
    }),
  };
}

/** What to do about the rest; undefined if only running the command again can help. */
function hintFor(plan: AnyPlan, done: CleaningReport): string | undefined {
  if (done.later !== null && done.later.length > 0) return INVESTIGATE_AGAIN;
  if (leftOver(plan).length === 0) return undefined;
  return done.left !== null && countsOf(plan, done).remaining === 0 ? BY_HAND : AGAIN_AND_BY_HAND;
}

const NOT_LEFT_OVER: ReadonlySet<Kept['reason']> = new Set(['not_undoable', 'legitimate', 'handed_over']);

/** What is left to be done manually, without marked and irreversible items, which the plan listed. */
function leftOver({ keep }: AnyPlan): readonly Kept[] {
  return keep.filter(({ reason }) => !NOT_LEFT_OVER.has(reason));
}

function leftText(plan: AnyPlan, done: CleaningReport | null): string {
  const keep = leftOver(plan);
  const items = new Set(keep.map(({ item }) => item.id)).size;
  const left = done === null ? 0 : done.left === null ? null : countsOf(plan, done).remaining;
  const later = done?.later?.length ?? 0;
  const parts = [
    ...(later === 0 ? [] : [`${countText(later, 'item')} appeared after the plan was made`]),
    ...(left === null
      ? ['whether anything remains was not checked']
      : left === 0
        ? []
        : [`${countText(left, 'item')} of the plan ${remainText(plan, left)}`]),
    ...(keep.length === 0
      ? []
      : [`${countText(items, 'item')} ${isUndo(plan) ? 'cannot be undone' : 'left for manual action'}`]),
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
