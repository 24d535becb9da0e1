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
import { someOf } from '../../domain/text.ts';
import type { IncidentReport } from '../../operations/incident/gather-report.ts';
import { type HandedOver, type ItemMark, standingOf } from '../../operations/incident/marked-items.ts';
import { type Document, lines, list, type Part } from '../document.ts';
import { countText, numberText, secondText } from '../tables/text.ts';
import { type ChainNode, type ChainNote, chainNodes, STOLEN } from './chain-picture.ts';
import { bySubject, combined, stolenIn } from './incident-timeline.ts';

/** The most lines of what remains. */
const MAX_ITEMS = 200;
/** How many changes that are no way in are named. */
const MAX_OTHERS = 5;

export function notInvestigated({ id, context }: IncidentReport['incident']): string {
  const command = `tokenctl incident investigate --context ${shellWord(context)} --incident ${id} --out FILE`;
  return `What the intruder did is not part of this report: no investigation was given (--from FILE). Make one with: ${command}`;
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

/** An item of which a person said something. */
interface Said<Mark extends ItemMark = ItemMark> {
  readonly item: InvestigationItem;
  readonly mark: Mark;
}

/** What people said, as far as it is about what remains. */
type Marked = Pick<IncidentReport, 'byHand' | 'handedOver'>;

/** How many of the things that were found are marked as honest work; 0 where several accounts were investigated. */
function honestIn({ own, investigations }: Pick<IncidentReport, 'own' | 'investigations'>): number {
  return bySubject(investigations).length > 1 ? 0 : own.filter(({ why }) => why === 'marked').length;
}

/** What is left of an investigation: each item once. */
interface Left {
  /** Those included that were dealt with by hand as a person said before, and that the investigation still found. */
  readonly remaining: readonly InvestigationItem[];
  readonly seenAgain: readonly Said[];
  /** Dealt with by hand, which nobody investigated since. */
  readonly handled: readonly Said[];
  /** Others decide about these. */
  readonly handedOver: readonly Said<HandedOver>[];
  /** Dealt with by hand, and read again by the investigation, whatever it found. */
  readonly readAgain: readonly Said[];
}

export function leftOf(found: Pick<Investigation, 'items' | 'madeAt'>, marked: Marked): Left {
  const { items, madeAt } = found;
  const byItem = <Mark extends ItemMark>(some: readonly Mark[]) =>
    new Map(some.map((mark) => [mark.item, mark]));
  const marks = { byHand: byItem(marked.byHand), handedOver: byItem(marked.handedOver) };
  const all = items.flatMap((item) => {
    const standing = standingOf(item, { madeAt, marks });
    return standing === null ? [] : [{ item, ...standing }];
  });
  return {
    remaining: all.flatMap(({ item, is }) => (is === 'remains' || is === 'seen_again' ? [item] : [])),
    seenAgain: all.flatMap(({ item, is, mark }) => (is === 'seen_again' ? [{ item, mark }] : [])),
    handled: all.flatMap(({ item, is, mark }) => (is === 'by_hand' ? [{ item, mark }] : [])),
    handedOver: all.flatMap((each) =>
      each.is === 'handed_over' ? [{ item: each.item, mark: each.mark }] : [],
    ),
    readAgain: items.flatMap((item) => {
      const mark = marks.byHand.get(item.id);
      return mark === undefined || Date.parse(mark.at) >= Date.parse(madeAt) ? [] : [{ item, mark }];
    }),
  };
}

/** Who made what: what people said of it is told from what remains, and the stolen token from what was done with it. */
export function chainOf({
  investigations,
  ...marked
}: Pick<IncidentReport, 'investigations' | 'byHand' | 'handedOver'>): readonly ChainNode[] {
  const found = combined(investigations);
  return chainNodes(found, { notes: notesOf(found, marked), stolen: stolenIn(investigations) });
}

/** What a picture of the items says of those of which people said something, by their ids. */
function notesOf(
  found: Pick<Investigation, 'items' | 'madeAt'>,
  marked: Marked,
): ReadonlyMap<string, ChainNote> {
  const { handled, handedOver, seenAgain } = leftOf(found, marked);
  return new Map<string, ChainNote>([
    ...handled.map(
      ({ item }) => [item.id, { text: 'dealt with by hand, as its person says', isUnknown: true }] as const,
    ),
    ...handedOver.map(
      ({ item, mark }) => [item.id, { text: `handed over to ${mark.to}`, isUnknown: false }] as const,
    ),
    ...seenAgain.map(
      ({ item }) => [item.id, { text: 'marked as done by hand before', isUnknown: false }] as const,
    ),
  ]);
}

/** What remains of each subject, which is named where there are several. */
export function remainingTexts(report: IncidentReport): readonly string[] {
  const groups = bySubject(report.investigations);
  if (groups.length === 0) return ['Not known: no investigation of what the intruder left behind was given.'];
  return groups.map((each) => {
    const found = combined(each);
    const text = remainingText(found, report, honestIn(report));
    return groups.length === 1 ? text : `${subjectText(found.subject)}: ${text}`;
  });
}

function remainingText(last: Investigation, marked: Marked, honest: number): string {
  const left = leftOf(last, marked);
  const { handled, handedOver, seenAgain } = left;
  return [
    knownText(last, left, honest),
    ...(seenAgain.length === 0
      ? []
      : [`Of these: ${namedOf(seenAgain, (said) => seenAgainText(said, last))}.`]),
    ...(handled.length === 0
      ? []
      : [
          `${countText(handled.length, 'thing was', 'things were')} dealt with by hand, as its person says; that was not checked.`,
        ]),
    ...(handedOver.length === 0
      ? []
      : [
          `${countText(handedOver.length, 'thing is', 'things are')} left to others, who decide: ${namedOf(handedOver, ({ mark }) => handedOverText(mark))}.`,
        ]),
  ].join(' ');
}

/** Some of the items by name, each with what is said of it. */
function namedOf<One extends Said>(some: readonly One[], text: (said: One) => string): string {
  const named = some.map((said) => `${said.item.summary}, ${text(said)}`);
  return someOf(named, MAX_OTHERS, '; ');
}

/** What a mark said, and what the investigation after it found. */
function seenAgainText({ item, mark }: Said, { madeAt }: Pick<Investigation, 'madeAt'>): string {
  return `marked as done by hand by ${mark.by} at ${secondText(mark.at)}, ${foundText(item)} at ${secondText(madeAt)}`;
}

function foundText(item: InvestigationItem): string {
  if (item.state === 'there') return 'still there';
  return item.state === 'unknown' ? 'not checked' : stateText(item);
}

function handedOverText({ to, by, at, why }: HandedOver): string {
  return `handed over to ${to} by ${by} at ${secondText(at)}${why === null ? '' : ` ("${why}")`}`;
}

function knownText(last: Investigation, { remaining: left, ...said }: Left, honest: number): string {
  const [handled, handedOver] = [said.handled.length, said.handedOver.length];
  const isSaid = handled + handedOver > 0;
  const unknown = left.filter(({ state }) => state === 'unknown').length;
  const seen = left.length - unknown;
  const isPart = last.visibility.kind !== 'all';
  if (left.length === 0 && isPart) {
    return `Not known. ${last.as}, who made the investigation of ${last.madeAt}, sees only part of the controller. In that part, it found nothing that remains${isSaid ? ' but what follows' : ''}.`;
  }
  const notRead = notReadText(last, { left, isSaid });
  if (notRead !== null) return notRead;
  const others = left.filter(isOtherChangeLeft);
  if (others.length > 0 && others.length === left.length && !isPart && !others.some(isSerious)) {
    return othersText(last, others, { handled, handedOver });
  }
  if (left.length === 0 && handedOver > 0) {
    return `Not in full. The investigation of ${last.madeAt} read again what the accounts are known to have done. ${endedText(last, said, honest)} What was still there or not checked is handed over${handled > 0 ? ', or said to be dealt with since' : ''}.`;
  }
  if (left.length === 0 && handled > 0) {
    return `Not checked in full. The investigation of ${last.madeAt} read again what the accounts are known to have done. ${endedText(last, said, honest)} What was still there or not checked is said to be dealt with since.`;
  }
  if (left.length === 0) {
    return `Nothing is known to remain. The investigation of ${last.madeAt} read again all things that the accounts are known to have done. They are ended${offText(last)}. What it could not know is listed below.`;
  }
  const serious = left.filter((item) => item.state !== 'unknown' && isSerious(item)).length;
  return [
    seen === 0
      ? `By the investigation of ${secondText(last.madeAt)}, nothing is known to remain.`
      : `No. By the investigation of ${secondText(last.madeAt)}, ${countText(seen, 'thing remains', 'things remain')}, ${serious} of the risk high or critical.`,
    ...(unknown === 0 ? [] : [`${countText(unknown, 'more was', 'more were')} not checked.`]),
    ...(last.stream.hole == null ? [] : [`More may remain. ${last.stream.hole}`]),
    ...(isPart ? [`More may remain: ${last.as} sees only part of the controller.`] : []),
  ].join(' ');
}

/** What is said where the stream is not whole, and nothing serious is known to remain; null for anything else. */
function notReadText(
  { stream: { hole }, madeAt }: Investigation,
  { left, isSaid }: { readonly left: readonly InvestigationItem[]; readonly isSaid: boolean },
): string | null {
  const seen = left.filter(({ state }) => state !== 'unknown');
  if (hole == null || seen.some(isSerious)) return null;
  const unknown = left.length - seen.length;
  const found = seen.length === 0 ? 'nothing' : countText(seen.length, 'thing');
  const checked = unknown === 0 ? '' : `, and ${countText(unknown, 'thing')} not checked`;
  return `Not known. ${hole} In what was read, the investigation of ${secondText(madeAt)} found ${found} that remains${isSaid ? ' but what follows' : ''}${checked}.`;
}

/** Of all that was found, how much does not remain: the rest is told beside it. */
function endedText(
  last: Investigation,
  { handled, handedOver }: Pick<Left, 'handled' | 'handedOver'>,
  honest: number,
): string {
  const found = last.items.filter((item) => !isStolenToken(item, last)).length;
  const left = [...handled, ...handedOver].filter(({ item }) => !isStolenToken(item, last)).length;
  const ended = `${numberText(found - left)} ${found - left === 1 ? 'is' : 'are'} ended${offText(last)}`;
  return honest === 0
    ? `It found ${countText(found, 'thing')}, of which ${ended}.`
    : `It found ${countText(found + honest, 'thing')}: ${numberText(honest)} marked as honest work; of the others, ${ended}.`;
}

/** What is ended and not deleted: it can be switched on again. Empty without any. */
function offText({ items }: Investigation): string {
  const off = Map.groupBy(items.filter(isSwitchedOff), stateText);
  const named = [...off].map(([state, some]) => `${numberText(some.length)} of them ${state}`);
  return named.length === 0 ? '' : `, ${named.join(' and ')}, not deleted`;
}

/** Where nothing remains but changes that give no access and run no code by any rule. */
function othersText(
  { madeAt }: Investigation,
  others: readonly InvestigationItem[],
  { handled, handedOver }: { readonly handled: number; readonly handedOver: number },
): string {
  const summaries = others.map(({ summary }) => summary);
  const what = [...(handled > 0 ? ['was done by hand'] : []), ...(handedOver > 0 ? ['is handed over'] : [])];
  const but = what.length === 0 ? '' : `, but for what ${what.join(' or ')}`;
  return `Nothing is known to remain that gives access or runs code${but}, by the investigation of ${madeAt}. ${countText(others.length, 'other change is', 'other changes are')} still there or not checked: ${someOf(summaries, MAX_OTHERS, '; ')}. What it could not know is listed below.`;
}

/** What remains, with what to do about it; then what people dealt with by hand, and what they handed over. */
export function whatRemains(report: IncidentReport): Document {
  const { investigations, incident } = report;
  if (investigations.length === 0) return [lines(notInvestigated(incident))];
  const last = combined(investigations);
  const { remaining, seenAgain, handled, handedOver, readAgain } = leftOf(last, report);
  const again = new Map(seenAgain.map((said) => [said.item.id, seenAgainText(said, last)]));
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
                again.get(item.id) ?? item.stateReason ?? item.state.replaceAll('_', ' '),
                `${item.remedy?.text ?? ''}${item.remedy?.isUntried ? ' (not tried on a controller)' : ''}`,
              ]),
          },
          lines(remaining.length > MAX_ITEMS && `and ${remaining.length - MAX_ITEMS} more.`),
        ]),
    saidLines(
      'Dealt with by hand, as its person says. That was not checked:',
      handled,
      ({ mark }) => `; said by ${mark.by}, ${secondText(mark.at)}`,
    ),
    saidLines(
      'Handed over, so that others decide about it:',
      handedOver,
      ({ item, mark }) => `: ${handedOverText(mark)}; ${foundText(item)} at ${secondText(last.madeAt)}`,
    ),
    saidLines(
      'Said to be dealt with by hand, and read again since:',
      readAgain,
      (said) => `: ${seenAgainText(said, last)}`,
    ),
  ];
}

function saidLines<One extends Said>(
  title: string,
  some: readonly One[],
  text: (said: One) => string,
): Part | null {
  if (some.length === 0) return null;
  return lines(title, list(...some.slice(0, MAX_ITEMS).map((said) => `${said.item.summary}${text(said)}`)));
}
