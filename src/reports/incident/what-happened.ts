import { someOf } from '@tokenctl/common/text.ts';
import {
  describedSummary,
  type Investigation,
  type InvestigationItem,
  isStillThere,
  whoText,
} from '../../domain/investigation/investigation.ts';
import type { Found } from '../../operations/incident/found.ts';
import type { IncidentReport } from '../../operations/incident/gather-report.ts';
import { type Document, lines, list } from '../document.ts';
import { countText, secondText } from '../tables/text.ts';
import { byRisk } from './incident-timeline.ts';
import { foundText, MAX_ITEMS } from './item-words.ts';
import { OWN_WORK } from './own-work.ts';
import { isSerious, notInvestigated, subjectText } from './what-remains.ts';

/** What the accounts did according to the investigations, the most serious actions, and the basis of that. */
export function whatHappened({ found, investigations, incident, own }: IncidentReport): Document {
  if (found === null) return [lines(notInvestigated(incident))];
  const { items, stolen } = found;
  const chain = investigations.flatMap((each) => each.chain);
  const acts = items.filter(({ id }) => !stolen.has(id));
  const unsure = stolen.size > 0 ? [] : acts.filter((item) => isOwnersToken(item, { chain }));
  const worst = acts
    .filter((item) => isSerious(item) && !unsure.includes(item))
    .sort(byRisk)
    .slice(0, 12);
  const marked = own.filter(({ why }) => why === 'marked').length;
  const { reason } = incident;
  return [
    lines(items.filter(({ id }) => stolen.has(id)).map(stolenText)),
    lines(
      marked > 0 &&
        `In total, ${countText(acts.length + marked, 'thing was', 'things were')} found: these ${acts.length}, and ${marked} marked as legitimate.`,
      unsure.length > 0 && unsureText(unsure),
      `${ACCOUNTS_ONLY} ${apartText(own)}`,
      reason !== null && `Reason given for the lockdown: ${reason}.`,
    ),
    withTitle(
      'The most severe items:',
      worst.map((item) => `${item.risk}: ${describedSummary(item)}, ${secondText(item.first)}`),
    ),
  ];
}

export function whatTheyDid({ own }: IncidentReport, { subjects, stolen }: Found): readonly string[] {
  return subjects.map((each) => whatOneDid(each, { stolen, isApart: own.length > 0 }));
}

/** Whether an account did it: not the theft itself, and not later runs of created objects. */
export function isAct({ stolen }: Pick<Found, 'stolen'>): (item: InvestigationItem) => boolean {
  return ({ id, job }) => !stolen.has(id) && (job === null || job.because === 'launched');
}

/** Whether an investigated account created this token for itself and it is gone: maybe the stolen one. */
function isOwnersToken(item: InvestigationItem, { chain }: Pick<Investigation, 'chain'>): boolean {
  const owners = new Set(chain.flatMap(({ how, user }) => (how === 'subject' ? user.username : [])));
  return (
    item.act === 'made' &&
    item.object.kind === 'o_auth2_access_token' &&
    !isStillThere(item) &&
    item.by.length > 0 &&
    item.by.every(({ username }) => owners.has(username))
  );
}

/** Used if no stolen token was given: it is unknown who did this work. */
function unsureText(items: readonly InvestigationItem[]): string {
  const named = someOf(items.map(describedSummary), MAX_UNSURE, '; ');
  return `Could not be distinguished: ${named}. These tokens belong to the investigated account itself. The stolen token may be among them because no stolen token was specified, and the intruder may have created others.`;
}

const MAX_UNSURE = 5;

/** The earliest possible start of the theft: not an action of the intruder. */
function stolenText(item: InvestigationItem): string {
  const who = whoText(item);
  return `A token was stolen. The incident started no earlier than ${secondText(item.first)}, when the token was created: ${who === '' ? '' : `${who} `}${describedSummary(item)}. It is not counted below. According to the last investigation, it is ${foundText(item)}.`;
}

/** The basis of an investigation. */
const ACCOUNTS_ONLY =
  "These are actions of accounts. Whether the intruder or the account's owner performed them was not checked, because the activity stream names users, not tokens.";

/** What is listed separately as the owner's own work. */
function apartText(own: IncidentReport['own']): string {
  if (own.length === 0) return "Nothing is listed separately as the owner's own work.";
  const marked = own.filter(({ why }) => why === 'marked').length;
  const before = own.length - marked;
  const what = [
    ...(before > 0 ? [`${countText(before, 'thing')} from before the incident could have started`] : []),
    ...(marked > 0 ? [`${countText(marked, 'thing')} marked as legitimate`] : []),
  ];
  return `Listed separately under "${OWN_WORK}": ${what.join(', and ')}.`;
}

/** A list under its title, with a limited length; omitted if empty. */
export function withTitle(title: string, items: readonly string[]) {
  return lines(items.length > 0 && [title, ...list(...items.slice(0, MAX_ITEMS))]);
}

/** @param known.isApart Whether some of it is the owner's own work: "nothing" would then be wrong. */
function whatOneDid(
  found: Investigation,
  { stolen, isApart }: { stolen: ReadonlySet<string>; isApart: boolean },
): string {
  const counting = found.items.filter(({ id }) => !stolen.has(id));
  const done = counting.filter(isAct({ stolen }));
  const later = counting.length - done.length;
  const began = done.map(({ first }) => first).sort()[0];
  // A job ends on its own, or because responders cancel it.
  const ended = done
    .map(({ group, first, last }) => (group === 'ran' ? first : last))
    .sort()
    .at(-1);
  // A created user who did nothing is an object, not an account that the actor used.
  const others = found.chain.filter(
    ({ how, user }) =>
      how !== 'subject' && done.some(({ by }) => by.some(({ username }) => username === user.username)),
  );
  const counted = ACTS.flatMap(([act, verb, noun]) => {
    const count = done.filter((item) => item.act === act).length;
    return count === 0 ? [] : [`${verb} ${countText(count, noun)}`];
  });
  if (began === undefined && isApart)
    return `Everything found about ${subjectText(found.subject)}, from ${found.since} to ${found.until}, counts as the owner's work.`;
  if (began === undefined && found.visibility.kind !== 'all') {
    return `${found.as}, which can see only part of the activity stream, found no actions of ${subjectText(found.subject)} in it from ${found.since} to ${found.until}.`;
  }
  return began === undefined
    ? `The activity stream contains no actions of ${subjectText(found.subject)} that affect access or what runs, from ${found.since} to ${found.until}.`
    : `${subjectText(found.subject)} acted from ${secondText(began)} to ${secondText(ended ?? began)}${others.length === 0 ? '' : `, also through ${others.map(({ user }) => user.username).join(', ')}`}: ${counted.join(', ')}.${later === 0 ? '' : ` ${countText(later, 'job')} ran from what was created or changed.`}`;
}

const ACTS: readonly (readonly [InvestigationItem['act'], verb: string, noun: string])[] = [
  ['made', 'created', 'object'],
  ['changed', 'changed', 'object'],
  ['granted', 'granted', 'role'],
  ['linked', 'linked', 'object'],
  ['launched', 'launched', 'job'],
  ['removed', 'removed', 'role or link'],
  ['deleted', 'deleted', 'object'],
];
