import { someOf } from '@tokenctl/common/text.ts';
import {
  describedSummary,
  type Investigation,
  type InvestigationItem,
  type InvestigationSubject,
  isOtherChangeLeft,
  isStolenToken,
  isSwitchedOff,
  stateText,
} from '../../domain/investigation/investigation.ts';
import { shellWord } from '../../domain/remedies.ts';
import { type CaseItem, caseItems, isOpen } from '../../operations/incident/case-items.ts';
import type { Found } from '../../operations/incident/found.ts';
import type { IncidentReport } from '../../operations/incident/gather-report.ts';
import { type Document, lines, list, type Part } from '../document.ts';
import { countText, numberText, secondText } from '../tables/text.ts';
import { type ChainNode, type ChainNote, chainNodes, STOLEN } from './chain-picture.ts';
import { foundText, MAX_ITEMS, seenAgainText } from './item-words.ts';

/** The maximum number of changes without access to name. */
const MAX_OTHERS = 5;

export function notInvestigated({ id, context }: IncidentReport['incident']): string {
  const command = `tokenctl incident investigate --context ${shellWord(context)} --incident ${id} --out FILE`;
  return `The intruder's actions are not part of this report because no investigation was provided (--from FILE). Create one with: ${command}`;
}

export function subjectText(subject: InvestigationSubject): string {
  switch (subject.kind) {
    case 'user':
      return `User ${subject.name}`;
    case 'token':
      return `The owner of access token ${subject.id} (${subject.user})`;
    case 'application':
      return `Who has tokens of the application ${subject.name}`;
  }
}

export function isSerious({ risk }: Pick<InvestigationItem, 'risk'>): boolean {
  return risk === 'critical' || risk === 'high';
}

/** The number of items marked as legitimate; 0 if several accounts were investigated. */
function honestIn({ own, found }: Pick<IncidentReport, 'own' | 'found'>): number {
  return found !== null && found.subjects.length > 1 ? 0 : own.filter(({ why }) => why === 'marked').length;
}

type Marked = Pick<IncidentReport, 'marks'>;

/** An investigation's findings, each item once, as of its time, without later verifications by cleanings. */
function itemsOf(found: Investigation, { marks }: Marked): readonly CaseItem[] {
  return caseItems(found, { marks, verified: new Map() });
}

/** The open items of an investigation, including those marked earlier as resolved manually. */
export function openIn(found: Investigation, marked: Marked): readonly InvestigationItem[] {
  return itemsOf(found, marked).flatMap((each) => (isOpen(each) ? each.item : []));
}

/** What is left of an investigation. */
interface Left {
  readonly remaining: readonly InvestigationItem[];
  /** Items found by the investigation although marked earlier as resolved manually. */
  readonly seenAgain: readonly CaseItem[];
  /** Items resolved manually, and not investigated since. */
  readonly handled: readonly CaseItem[];
  /** Items that others decide about. */
  readonly handedOver: readonly CaseItem[];
}

function leftOf(items: readonly CaseItem[]): Left {
  const of = (fate: CaseItem['fate']) => items.filter((each) => each.fate === fate);
  return {
    remaining: items.flatMap((each) => (isOpen(each) ? each.item : [])),
    ...{ seenAgain: of('seen_again'), handled: of('by_hand'), handedOver: of('handed_over') },
  };
}

/** The chain, with marked items distinguished from remaining ones, and the stolen token from its uses. */
export function chainOf(marked: Marked, found: Found): readonly ChainNode[] {
  const notes = itemsOf(found, marked).flatMap((each) => {
    const note = noteOf(each);
    return note === null ? [] : [[each.item.id, note] as const];
  });
  return chainNodes(found, { notes: new Map(notes), stolen: found.stolen });
}

/** The note about an item with marks. */
function noteOf({ fate, said }: CaseItem): ChainNote | null {
  switch (fate) {
    case 'by_hand':
      return { text: 'reported as resolved manually', isUnknown: true };
    case 'handed_over':
      return { text: `reassigned to ${said.handedOver?.to}`, isUnknown: false };
    case 'seen_again':
      return { text: 'marked as resolved manually before', isUnknown: false };
    default:
      return null;
  }
}

/** What remains of each subject, with its name if there are several. */
export function remainingTexts(report: IncidentReport): readonly string[] {
  const { found } = report;
  if (found === null) return ['Not known: no investigation of what the intruder left behind was provided.'];
  return found.subjects.map((each) => {
    const text = remainingText(each, report, honestIn(report));
    return found.subjects.length === 1 ? text : `${subjectText(each.subject)}: ${text}`;
  });
}

function remainingText(last: Investigation, marked: Marked, legitimate: number): string {
  const left = leftOf(itemsOf(last, marked));
  const { handled, handedOver, seenAgain } = left;
  return [
    knownText(last, left, legitimate),
    ...(seenAgain.length === 0
      ? []
      : [`Of these: ${namedOf(seenAgain, (each) => seenAgainText(each, last))}.`]),
    ...(handled.length === 0
      ? []
      : [
          `${countText(handled.length, 'thing was', 'things were')} reported as resolved manually, which was not checked.`,
        ]),
    ...(handedOver.length === 0
      ? []
      : [
          `${countText(handedOver.length, 'thing is', 'things are')} reassigned to others, who decide: ${namedOf(handedOver, handedOverText)}.`,
        ]),
  ].join(' ');
}

function namedOf(some: readonly CaseItem[], text: (each: CaseItem) => string): string {
  const named = some.map((each) => `${each.item.summary}, ${text(each)}`);
  return someOf(named, MAX_OTHERS, '; ');
}

function handedOverText({ said: { handedOver } }: CaseItem): string {
  if (handedOver === null) return '';
  const { to, by, at, why } = handedOver;
  return `reassigned to ${to} by ${by} at ${secondText(at)}${why === null ? '' : ` ("${why}")`}`;
}

function knownText(last: Investigation, { remaining: left, ...said }: Left, legitimate: number): string {
  const [handled, handedOver] = [said.handled.length, said.handedOver.length];
  const isSaid = handled + handedOver > 0;
  const unknown = left.filter(({ state }) => state === 'unknown').length;
  const seen = left.length - unknown;
  const isPart = last.visibility.kind !== 'all';
  if (left.length === 0 && isPart) {
    return `Not known. ${last.as}, who ran the investigation at ${secondText(last.madeAt)}, can see only part of the controller. In that part, the account found nothing that remains${isSaid ? ' but what follows' : ''}.`;
  }
  const notRead = notReadText(last, { left, isSaid });
  if (notRead !== null) return notRead;
  const others = left.filter(isOtherChangeLeft);
  if (others.length > 0 && others.length === left.length && !isPart && !others.some(isSerious)) {
    return othersText(last, others, { handled, handedOver });
  }
  if (left.length === 0 && handedOver > 0) {
    return `Not in full. The investigation at ${secondText(last.madeAt)} checked the known actions of the accounts again. ${endedText(last, said, legitimate)} Items that were still there or not checked are reassigned${handled > 0 ? ', or reported as resolved since' : ''}.`;
  }
  if (left.length === 0 && handled > 0) {
    return `Not checked in full. The investigation at ${secondText(last.madeAt)} checked the known actions of the accounts again. ${endedText(last, said, legitimate)} Items that were still there or not checked were reported as resolved since.`;
  }
  if (last.items.length === 0 && legitimate === 0) {
    return `No actions of the accounts are known. The investigation at ${secondText(last.madeAt)} found none in what it read, so there was nothing to check again. What it could not know is listed below.`;
  }
  if (left.length === 0) {
    return `Nothing is known to remain. The investigation at ${secondText(last.madeAt)} checked all known actions of the accounts again. They are ended${offText(last)}. What it could not know is listed below.`;
  }
  const serious = left.filter((item) => item.state !== 'unknown' && isSerious(item)).length;
  return [
    seen === 0
      ? `According to the investigation at ${secondText(last.madeAt)}, nothing is known to remain.`
      : `Not over. According to the investigation at ${secondText(last.madeAt)}, ${countText(seen, 'thing remains', 'things remain')}, ${serious} of high or critical risk.`,
    ...(unknown === 0 ? [] : [`${countText(unknown, 'more was', 'more were')} not checked.`]),
    ...(last.stream.hole == null ? [] : [`More may remain. ${last.stream.hole}`]),
    ...(isPart ? [`There may be more remaining items: ${last.as} can see only part of the controller.`] : []),
  ].join(' ');
}

/** The text if the stream is incomplete and nothing serious is known to remain; otherwise null. */
function notReadText(
  { stream: { hole }, madeAt }: Investigation,
  { left, isSaid }: { left: readonly InvestigationItem[]; isSaid: boolean },
): string | null {
  const seen = left.filter(({ state }) => state !== 'unknown');
  if (hole == null || seen.some(isSerious)) return null;
  const unknown = left.length - seen.length;
  const found = seen.length === 0 ? 'nothing' : countText(seen.length, 'thing');
  const checked = unknown === 0 ? '' : `, and ${countText(unknown, 'thing')} not checked`;
  return `Not known. ${hole} In what was read, the investigation at ${secondText(madeAt)} found ${found} that remains${isSaid ? ' but what follows' : ''}${checked}.`;
}

/** How many of the findings no longer exist; the others are listed separately. */
function endedText(
  last: Investigation,
  { handled, handedOver }: Pick<Left, 'handled' | 'handedOver'>,
  legitimate: number,
): string {
  const found = last.items.filter((item) => !isStolenToken(item, last)).length;
  const left = [...handled, ...handedOver].filter(({ item }) => !isStolenToken(item, last)).length;
  const ended = `${numberText(found - left)} ${found - left === 1 ? 'is' : 'are'} ended${offText(last)}`;
  return legitimate === 0
    ? `It found ${countText(found, 'thing')}, of which ${ended}.`
    : `It found ${countText(found + legitimate, 'thing')}: ${numberText(legitimate)} marked as legitimate; of the others, ${ended}.`;
}

/** Items that are switched off but not deleted: they can be switched on again. Empty if there are none. */
function offText({ items }: Investigation): string {
  const off = Map.groupBy(items.filter(isSwitchedOff), stateText);
  const named = [...off].map(([state, some]) => `${numberText(some.length)} of them ${state}`);
  return named.length === 0 ? '' : `, ${named.join(' and ')}, not deleted`;
}

/** The text if only changes remain that give no access and run no code by any rule. */
function othersText(
  { madeAt }: Investigation,
  others: readonly InvestigationItem[],
  { handled, handedOver }: { handled: number; handedOver: number },
): string {
  const summaries = others.map(({ summary }) => summary);
  const what = [
    ...(handled > 0 ? ['was resolved manually'] : []),
    ...(handedOver > 0 ? ['is reassigned'] : []),
  ];
  const but = what.length === 0 ? '' : `, but for what ${what.join(' or ')}`;
  return `Nothing is known to remain that gives access or runs code${but}, according to the investigation at ${madeAt}. ${countText(others.length, 'other change is', 'other changes are')} still there or not checked: ${someOf(summaries, MAX_OTHERS, '; ')}. What it could not know is listed below.`;
}

/** What remains, with what to do about it; then what people resolved manually or reassigned. */
export function whatRemains(report: IncidentReport): Document {
  const { found: last, incident } = report;
  if (last === null) return [lines(notInvestigated(incident))];
  const items = itemsOf(last, report);
  const { remaining, seenAgain, handled, handedOver } = leftOf(items);
  const again = new Map(seenAgain.map((each) => [each.item.id, seenAgainText(each, last)]));
  const readAgain = items.filter(
    ({ said: { byHand } }) => byHand !== null && Date.parse(byHand.at) < Date.parse(last.madeAt),
  );
  return [
    ...(remaining.length === 0
      ? [lines(remainingTexts(report))]
      : [
          {
            kind: 'table' as const,
            heads: ['Risk', 'What', 'State', 'What to do'],
            rows: remaining
              .slice(0, MAX_ITEMS)
              .map((item) => [
                item.risk ?? '-',
                `${describedSummary(item)}${last.stolen.has(item.id) ? STOLEN : ''}`,
                again.get(item.id) ?? item.stateReason ?? item.state.replaceAll('_', ' '),
                `${item.remedy?.text ?? ''}${item.remedy?.isUntried ? ' (not tested on a controller)' : ''}`,
              ]),
          },
          lines(remaining.length > MAX_ITEMS && `and ${remaining.length - MAX_ITEMS} more.`),
        ]),
    saidLines(
      'Reported as resolved manually. This was not checked:',
      handled,
      ({ said: { byHand } }) => `; according to ${byHand?.by}, ${secondText(byHand?.at ?? '')}`,
    ),
    saidLines(
      'Reassigned: others decide:',
      handedOver,
      (each) => `: ${handedOverText(each)}; ${foundText(each.item)} at ${secondText(last.madeAt)}`,
    ),
    saidLines(
      'Reported as resolved manually, and checked since:',
      readAgain,
      (each) => `: ${seenAgainText(each, last)}`,
    ),
  ];
}

function saidLines(title: string, some: readonly CaseItem[], text: (each: CaseItem) => string): Part | null {
  if (some.length === 0) return null;
  return lines(title, list(...some.slice(0, MAX_ITEMS).map((each) => `${each.item.summary}${text(each)}`)));
}
