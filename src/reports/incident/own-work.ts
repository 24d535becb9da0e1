import { isStillThere, stateText, whoText } from '../../domain/investigation/investigation.ts';
import type { IncidentReport } from '../../operations/incident/gather-report.ts';
import type { OwnWork } from '../../operations/incident/own-work.ts';
import { type Document, lines, list, section } from '../document.ts';
import { countText, secondText } from '../tables/text.ts';
import { MAX_ITEMS } from './item-words.ts';

/** The heading of the owner's work. */
export const OWN_WORK = "Not the intruder's";

/** What the account's owner did, by marks or by the start of the theft; empty if there is none. */
export function ownWorkParts({ own, began }: IncidentReport): Document {
  if (own.length === 0) return [];
  const before = own.filter(({ why }) => why === 'before');
  const marked = own.filter(({ why }) => why === 'marked');
  const byToken = Map.groupBy(
    own.filter(({ why }) => why === 'before_token'),
    ({ token }) => `${token?.id} ${token?.madeAt}`,
  );
  return [
    section(OWN_WORK),
    ...listed(
      `Actions before ${secondText(began?.at ?? '')}, when the incident started according to ${sourceText(began)}:`,
      before,
    ),
    ...[...byToken.values()].flatMap((some) => listed(beforeTokenTitle(some), some)),
    ...listed("Marked as legitimate. A mark is a person's statement that was not checked:", marked),
  ];
}

function sourceText(began: IncidentReport['began']): string {
  return began === null || began.run === null
    ? 'the parameters of this report'
    : `the cleanup ${began.run}, which was confirmed with it`;
}

function beforeTokenTitle(some: readonly OwnWork[]): string {
  const token = some[0]?.token;
  return `From before ${secondText(token?.madeAt ?? '')}, when the stolen token ${token?.id} was created, and considered the owner's own work (${countText(some.length, 'thing')}):`;
}

function listed(title: string, some: readonly OwnWork[]): Document {
  const more = some.length - MAX_ITEMS;
  return [
    lines(some.length > 0 && [title, ...list(...some.slice(0, MAX_ITEMS).map(workText))]),
    lines(more > 0 && `and ${countText(more, 'more item')}.`),
  ];
}

function workText({ item, mark }: OwnWork): string {
  const who = whoText(item);
  const state = stateOf(item);
  const by =
    mark === null
      ? ''
      : `; marked by ${mark.by}, ${secondText(mark.at)}${mark.why === null ? ', without a reason' : `: "${mark.why}"`}`;
  return `${secondText(item.first)}: ${who === '' ? '' : `${who}: `}${item.summary}${state}${by}`;
}

function stateOf(item: OwnWork['item']): string {
  if (item.state === 'unknown') return ', was left as is and not read again';
  return isStillThere(item) ? ', was left as is' : `, ${stateText(item)}`;
}
