import {
  describedSummary,
  type Investigation,
  type InvestigationItem,
  type InvestigationSubject,
  isOtherChangeLeft,
  isStillThere,
} from '../../domain/investigation/investigation.ts';
import { shellWord } from '../../domain/remedies.ts';
import type { IncidentReport } from '../../operations/incident/gather-report.ts';
import { handledBy, type ItemMark } from '../../operations/incident/marked-items.ts';
import { type Document, lines, list } from '../document.ts';
import { countText, numberText, secondText } from '../tables/text.ts';
import { type ChainNode, chainNodes, STOLEN } from './chain-picture.ts';
import { bySubject, combined, stolenIn } from './incident-timeline.ts';

/** The most lines of what remains. */
const MAX_ITEMS = 200;
/** How many changes that are no way in are named. */
const MAX_OTHERS = 5;

export function notInvestigated({ id, context }: IncidentReport['incident']): string {
  const command = `tokenctl incident investigate --context ${shellWord(context)} --incident ${id} --out FILE`;
  return `What the intruder did is not part of this report: no investigation was made. Make one with \`${command}\`.`;
}

export function subjectText(subject: InvestigationSubject): string {
  switch (subject.kind) {
    case 'user':
      return `User ${subject.name}`;
    case 'token':
      return `The owner of access token ${subject.id}, ${subject.user},`;
    case 'application':
      return `Who has tokens of the application ${subject.name}`;
  }
}

export function isSerious({ risk }: Pick<InvestigationItem, 'risk'>): boolean {
  return risk === 'critical' || risk === 'high';
}

/** An item that a person says to have dealt with by hand. */
interface Handled {
  readonly item: InvestigationItem;
  readonly mark: ItemMark;
}

/** What is left of an investigation: each item once. */
interface Left {
  readonly remaining: readonly InvestigationItem[];
  /** Dealt with by hand, which nobody investigated since. */
  readonly handled: readonly Handled[];
  /** The same, and read again by the investigation. */
  readonly readAgain: readonly Handled[];
}

export function leftOf(
  { items, madeAt }: Pick<Investigation, 'items' | 'madeAt'>,
  marks: IncidentReport['byHand'],
): Left {
  const byHand = new Map(marks.map((mark) => [mark.item, mark]));
  const said = items.flatMap((item) => {
    const mark = byHand.get(item.id);
    return mark === undefined ? [] : [{ item, mark }];
  });
  const isHandled = (item: InvestigationItem) => handledBy(item, { madeAt, marks: { byHand } }) !== null;
  return {
    remaining: items.filter((item) => isStillThere(item) && !isHandled(item)),
    handled: said.filter(({ item }) => isHandled(item)),
    readAgain: said.filter(({ mark }) => Date.parse(mark.at) < Date.parse(madeAt)),
  };
}

/** Who made what: what people dealt with by hand is told from what remains, and the stolen token from what was done with it. */
export function chainOf({
  investigations,
  byHand,
}: Pick<IncidentReport, 'investigations' | 'byHand'>): readonly ChainNode[] {
  const found = combined(investigations);
  const handled = new Set(leftOf(found, byHand).handled.map(({ item }) => item.id));
  return chainNodes(found, { handled, stolen: stolenIn(investigations) });
}

/** What remains of each subject, which is named where there are several. */
export function remainingTexts({ investigations, byHand }: IncidentReport): readonly string[] {
  const groups = bySubject(investigations);
  if (groups.length === 0) return ['Not known: what the intruder left behind was not investigated.'];
  return groups.map((each) => {
    const found = combined(each);
    const text = remainingText(found, byHand);
    return groups.length === 1 ? text : `${subjectText(found.subject)}: ${text}`;
  });
}

function remainingText(last: Investigation, byHand: IncidentReport['byHand']): string {
  const { remaining, handled } = leftOf(last, byHand);
  const said =
    handled.length === 0
      ? ''
      : ` ${countText(handled.length, 'thing was', 'things were')} dealt with by hand, as its person says; that was not checked.`;
  return `${knownText(last, remaining, handled.length)}${said}`;
}

function knownText(last: Investigation, left: readonly InvestigationItem[], handled: number): string {
  const unknown = left.filter(({ state }) => state === 'unknown').length;
  const seen = left.length - unknown;
  const isPart = last.visibility.kind !== 'all';
  if (left.length === 0 && isPart) {
    return `Not known. ${last.as}, who made the investigation of ${last.madeAt}, sees only part of the controller. In that part, it found nothing that remains${handled === 0 ? '' : ' but what follows'}.`;
  }
  const others = left.filter(isOtherChangeLeft);
  if (others.length > 0 && others.length === left.length && !isPart && !others.some(isSerious)) {
    const named = others.slice(0, MAX_OTHERS).map(({ summary }) => summary);
    if (others.length > MAX_OTHERS) named.push(`${numberText(others.length - MAX_OTHERS)} more`);
    return `Nothing is known to remain that gives access or runs code${handled === 0 ? '' : ', but for what was done by hand'}, by the investigation of ${last.madeAt}. ${countText(others.length, 'other change is', 'other changes are')} still there or not checked: ${named.join('; ')}. What it could not know is listed below.`;
  }
  if (left.length === 0 && handled > 0) {
    return `Not checked in full. The investigation of ${last.madeAt} read again what the accounts are known to have done. Of what it found there, all is said to be dealt with since.`;
  }
  if (left.length === 0) {
    return `Nothing is known to remain. The investigation of ${last.madeAt} read again what the accounts are known to have done, and none of it remains. What it could not know is listed below.`;
  }
  const serious = left.filter((item) => item.state !== 'unknown' && isSerious(item)).length;
  return [
    seen === 0
      ? `By the investigation of ${last.madeAt}, nothing is known to remain.`
      : `No. By the investigation of ${last.madeAt}, ${countText(seen, 'thing remains', 'things remain')}, ${serious} of the risk high or critical.`,
    ...(unknown === 0 ? [] : [`${countText(unknown, 'more was', 'more were')} not checked.`]),
    ...(isPart ? [`More may remain: ${last.as} sees only part of the controller.`] : []),
  ].join(' ');
}

/** What remains, with what to do about it; then what people dealt with by hand. */
export function whatRemains(report: IncidentReport): Document {
  const { investigations, incident, byHand } = report;
  if (investigations.length === 0) return [lines(notInvestigated(incident))];
  const { remaining, handled, readAgain } = leftOf(combined(investigations), byHand);
  const stolen = stolenIn(investigations);
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
                `${describedSummary(item)}${stolen.has(item.id) ? STOLEN : ''}`,
                item.stateReason ?? item.state.replaceAll('_', ' '),
                item.remedy?.text ?? '',
              ]),
          },
          lines(remaining.length > MAX_ITEMS && `and ${remaining.length - MAX_ITEMS} more.`),
        ]),
    ...handledLines('Dealt with by hand, as its person says. That was not checked:', handled, () => ''),
    ...handledLines(
      'Said to be dealt with by hand, and read again since:',
      readAgain,
      ({ state, stateReason }) => `: ${stateReason ?? (state === 'there' ? 'still there' : state)}`,
    ),
  ];
}

function handledLines(
  title: string,
  some: readonly Handled[],
  found: (item: InvestigationItem) => string,
): Document {
  if (some.length === 0) return [];
  const texts = some
    .slice(0, MAX_ITEMS)
    .map(({ item, mark }) => `${item.summary}; said by ${mark.by}, ${secondText(mark.at)}${found(item)}`);
  return [lines(title, list(...texts))];
}
