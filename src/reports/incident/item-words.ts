/** The texts about an investigation's item, for terminals, reports and pages. */

import { someOf } from '@tokenctl/common/text.ts';
import { objectText } from '../../domain/investigation/collect-items.ts';
import {
  type FieldChange,
  type Investigation,
  type InvestigationItem,
  type ItemRemedy,
  type LaterChange,
  stateText,
  whoText,
} from '../../domain/investigation/investigation.ts';
import { nounOf } from '../../domain/investigation/kinds.ts';
import type { CaseItem, ItemFate } from '../../operations/incident/case-items.ts';
import type { PlannedCleaning } from '../../operations/investigation/plan-cleaning.ts';
import type { ItemMark } from '../../operations/journal/marked-items.ts';
import { type OwnAct, ownActOf } from '../../operations/journal/own-acts.ts';
import { type Facts, facts } from '../document.ts';
import { countText, numberText, secondText, type Tone } from '../tables/text.ts';

/** The maximum number of lines in a list of a report. */
export const MAX_ITEMS = 200;
/** The maximum length of a value in a line, and in an item's details. */
const MAX_VALUE = 100;
const MAX_DETAIL = 300;
/** The maximum number of changes in an item's details. */
const MAX_CHANGES = 20;
/** The maximum number of an item's fields that a plan shows. */
const MOST_FIELDS = 5;

/** A recorded value, truncated if it is long. */
export function valueText(value: unknown, most = MAX_VALUE): string {
  const text = JSON.stringify(value ?? null);
  return text.length <= most ? text : `${text.slice(0, most)}…`;
}

const FIELD_STATES: Readonly<Record<FieldChange['state'], string>> = {
  as_left: '',
  left_in_part: ' (changed since by others, partly active)',
  as_before: ' (restored)',
  changed: ' (changed since, not active)',
  not_reviewed: ' (changed since by others, not reviewed)',
  unknown: ' (not checked)',
};

/** A field of an item before and after, and its current value, except for a deleted object. */
export function changeText(
  { field, before, after, hidden, state }: FieldChange,
  { item, most }: { item: Pick<InvestigationItem, 'state'>; most?: number },
): string {
  const now = item.state === 'gone' ? '' : FIELD_STATES[state];
  if (hidden) return `${field}: hidden${now}`;
  const from = before === undefined ? '' : `${valueText(before, most)} -> `;
  return `${field}: ${from}${valueText(after, most)}${now}`;
}

/** The current value, and the value to restore, which is not a deletion. Null for another action. */
export function setBackText({
  item: { changes = [] },
  act,
}: Pick<PlannedCleaning, 'item' | 'act'>): string | null {
  if (act.act !== 'restore' || act.to !== 'before') return null;
  const restored = new Set(act.fields.map(({ field }) => field));
  const texts = changes
    .filter(({ field }) => restored.has(field))
    .map(({ field, hidden, before, after, isDefault }) =>
      hidden
        ? `${field}: hidden`
        : `${field}: ${valueText(after)} -> back to ${isDefault === true ? 'its default' : valueText(before)}`,
    );
  return texts.length === 0 ? null : someOf(texts, MOST_FIELDS, '; ');
}

/** Who changed the object after the actor, when and how. Changes by tokenctl runs have no actor. */
export function laterText(
  { at, by, operation, fields }: LaterChange,
  { item: { object, other }, ownActs }: { item: InvestigationItem; ownActs: readonly OwnAct[] },
): string {
  const own = by === null ? ownActOf({ at, operation, fields, object, other }, ownActs) : null;
  const ours = own === null ? 'no recorded actor' : `${own.by} with tokenctl, run ${own.run.slice(0, 8)}`;
  return `${by?.username ?? ours}, ${secondText(at)}: ${operation}${fields.length === 0 ? '' : ` ${fields.join(', ')}`}`;
}

/** How a job ran. */
export function jobText(job: NonNullable<InvestigationItem['job']>): string {
  const { status, launchType, credentials, hosts, template } = job;
  const parts = [
    status,
    launchType,
    template?.name != null && `from ${template.name}`,
    hosts !== null && countText(hosts, 'host'),
    credentials.length > 0 && `credentials ${credentials.join(', ')}`,
  ];
  return parts.filter(Boolean).join('; ');
}

/** What to do about an item, and how. */
export function remedyText({ kind, text, isUntried }: ItemRemedy): string {
  const how = { command: 'Run', call: 'Send', manual: 'By hand' }[kind];
  return `${how}${isUntried === true ? ' (not tested on a controller)' : ''}: ${text}`;
}

/** The findings about an item that may still exist. */
export function foundText(item: InvestigationItem): string {
  if (item.state === 'there') return 'still there';
  return item.state === 'unknown' ? 'not checked' : stateText(item);
}

/** An item marked as resolved manually, and what the next investigation found. */
export function seenAgainText(
  { item, said: { byHand } }: Pick<CaseItem, 'item' | 'said'>,
  { madeAt }: Pick<Investigation, 'madeAt'>,
): string {
  return `marked as resolved manually by ${byHand?.by} at ${secondText(byHand?.at ?? '')}, ${foundText(item)} at ${secondText(madeAt)}`;
}

/** An item's label: its current state and people's marks; neither hides the other. */
export interface ItemLabel {
  readonly text: string;
  readonly tone: Tone;
  /** Additional text next to it. */
  readonly more: string | null;
}

const STATES: Readonly<Record<InvestigationItem['state'], readonly [word: string, tone: Tone]>> = {
  there: ['remains', 'bad'],
  running: ['running', 'bad'],
  unknown: ['not checked', 'warning'],
  finished: ['finished', 'faint'],
  undone: ['', 'faint'],
  changed: ['changed since', 'good'],
  gone: ['gone', 'good'],
};

export function labelOf(each: CaseItem, of: Pick<Investigation, 'madeAt'>): ItemLabel {
  const { item, fate, said, cleanedAt } = each;
  const [known, tone] = STATES[item.state];
  const word = known === '' ? stateText(item) : known;
  const legitimate = said.legitimate === null ? '' : ' (legitimate)';
  const label = (text: string, as: Tone, more: string | null = null) => ({ text, tone: as, more });
  if (cleanedAt !== null) return label(`cleaned, verified${legitimate}`, 'good', cleanedAt);
  switch (fate) {
    case 'legitimate':
      return label(item.state === 'there' ? 'legitimate' : `${word}${legitimate}`, 'strong');
    case 'by_hand':
      return label('resolved manually, not checked', 'warning');
    case 'handed_over':
      return label('reassigned', 'warning', `to ${said.handedOver?.to}`);
    case 'seen_again':
      return label(foundText(item), tone, seenAgainText(each, of));
    default:
      return label(`${word}${said.byHand === null ? '' : ', after it was resolved manually'}`, tone);
  }
}

/** The texts for items' fates, after their number. */
const FATES: readonly (readonly [fate: ItemFate, text: string])[] = [
  ['seen_again', 'resolved manually according to a person, and found again or not checked'],
  ['by_hand', 'resolved manually, not checked'],
  ['handed_over', 'reassigned'],
  ['legitimate', 'legitimate'],
  ['cleaned', 'cleaned and verified'],
];
/** The maximum number of ended items to name. */
const MOST_OVER = 5;

/**
 * The number of items per fate.
 * @param words.remains The text about remaining items; omitted without it.
 * @param words.over Whether to include ended items, some by name.
 */
export function fatesTexts(
  items: readonly CaseItem[],
  words: { readonly remains: string | null; readonly over: boolean },
): readonly string[] {
  const { remains } = words;
  const of = (fate: ItemFate) => items.filter((each) => each.fate === fate);
  const over = words.over ? of('over').map(({ item }) => `${shortName(item.object)} ${stateText(item)}`) : [];
  const all = remains === null ? FATES : [['remains', remains] as const, ...FATES];
  const counted = all.flatMap(([fate, text]) => {
    const { length } = of(fate);
    return length === 0 ? [] : [`${numberText(length)} ${text}`];
  });
  if (over.length === 0) return counted;
  return [...counted, `${numberText(over.length)} resolved: ${someOf(over, MOST_OVER)}`];
}

/** An object without its id, if it has a name. */
function shortName(object: InvestigationItem['object']): string {
  const { kind, id, name } = object;
  return id === null || name !== null ? objectText({ ...object, id: null }) : `${nounOf(kind)} ${id}`;
}

/** The gaps of the activity stream, as the first thing to know; empty if none are known. */
export function notReadText({ stream }: Pick<Investigation, 'stream'>): readonly string[] {
  return stream.hole == null
    ? []
    : [`Not everything was read, and there may be more remaining items. ${stream.hole}`];
}

/** All details of an item except its state, its risk and its remedy. */
export function itemFacts({ item, said, fate }: CaseItem, ownActs: readonly OwnAct[]): Facts {
  const { findings, first, last, entryCount, job, changes, changedSince } = item;
  const { legitimate, byHand, handedOver } = said;
  const why = ({ why: text }: ItemMark) => (text === null ? '' : `${text}: `);
  const entry = ({ by, at, seq }: ItemMark) => `by ${by}, ${secondText(at)}, entry ${seq} of the audit log`;
  const next = fate === 'by_hand' ? '; the next investigation checks this' : '';
  return facts([
    ['Legitimate', legitimate && `${why(legitimate)}marked ${entry(legitimate)}`],
    ['By hand', byHand && `${why(byHand)}marked as done ${entry(byHand)}${next}`],
    ['Reassigned', handedOver && `${why(handedOver)}to ${handedOver.to} ${entry(handedOver)}`],
    ['Because', findings.map(({ message }) => message)],
    ['By', whoText(item) || 'no one was recorded'],
    [
      'When',
      `${secondText(first)}${last === first ? '' : ` to ${secondText(last)}`}, ${countText(entryCount, 'entry', 'entries')} of the activity stream`,
    ],
    ['Job', job && jobText(job)],
    ['Changed', changes.slice(0, MAX_CHANGES).map((each) => changeText(each, { item, most: MAX_DETAIL }))],
    ['Since then', changedSince.slice(0, MAX_CHANGES).map((each) => laterText(each, { item, ownActs }))],
  ]);
}
