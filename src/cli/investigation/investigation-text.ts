import {
  describedSummary,
  type FieldChange,
  type Investigation,
  type InvestigationItem,
  type InvestigationSubject,
  type ItemGroup,
  type ItemRemedy,
  isStillThere,
  isStolenToken,
  stateText,
} from '../../domain/investigation/investigation.ts';
import { nounOf } from '../../domain/investigation/kinds.ts';
import { type ItemMark, type Marks, standingOf } from '../../operations/incident/marked-items.ts';
import type { OwnAct } from '../../operations/incident/own-acts.ts';
import { type Unknowns, unknownsOf } from '../../operations/investigation/unknowns.ts';
import { type Document, type Lines, lines, list, type Part } from '../../reports/document.ts';
import { countText, numberText, secondText } from '../../reports/tables/text.ts';

/** How many entries without an actor are shown. */
const MAX_UNATTRIBUTED = 10;
/** How many users of the chain, and items of one kind in a group, are listed without --all: an intruder can make thousands. */
const MAX_OF_KIND = 20;
/** The longest value in a line, in characters. */
const MAX_VALUE = 100;

const HEADINGS: Readonly<Record<ItemGroup, string>> = {
  ways_in: 'Ways in that remain',
  code_later: 'Ways to run code later',
  ran: 'What ran',
  other: 'Other changes',
};

/** What the audit log has of the incident that an investigation belongs to. */
export interface CaseKnown {
  readonly marks: Pick<Marks, 'honest' | 'byHand' | 'handedOver'>;
  /** What runs of tokenctl did: its own entries of the activity stream are not the intruder's. */
  readonly ownActs: readonly OwnAct[];
}

/** Without an incident, nobody has said anything of an item. */
export const NO_CASE_KNOWN: CaseKnown = {
  marks: { honest: new Map(), byHand: new Map(), handedOver: new Map() },
  ownActs: [],
};

/** An investigation for people: the chain, the items that remain by group, what ran, what people said of items, what is not known. */
export function investigationDocument(
  investigation: Investigation,
  { all, known = NO_CASE_KNOWN }: { readonly all: boolean; readonly known?: CaseKnown },
): Document {
  const { items, chain, stream, target, since, until, madeAt } = investigation;
  const { marks } = known;
  const there = items.filter(isStillThere);
  const decided = there.filter(({ id }) => marks.honest.has(id) || marks.handedOver.has(id));
  const remaining = there.filter((item) => !decided.includes(item));
  const [stolen] = items.filter((item) => isStolenToken(item, investigation));
  const acts = items.length - (stolen === undefined ? 0 : 1);
  const left = remaining.length - (stolen !== undefined && isStillThere(stolen) ? 1 : 0);
  const dealtWith = items.filter(
    (item) => !isStillThere(item) && item.group !== 'ran' && item.group !== 'other',
  );
  const unknowns = unknownsOf([investigation], known.ownActs);
  return [
    lines(
      ...notReadText(investigation),
      `Investigated ${subjectText(investigation.subject)} at ${target.address} (context ${target.context}), from ${secondText(since)} to ${secondText(until)}.`,
      `${countText(stream.read, 'entry', 'entries')} of the activity stream, ${countText(acts, 'item')}: ${numberText(left)} ${left === 1 ? 'remains' : 'remain'}${decided.length === 0 ? '' : `, beside ${numberText(decided.length)} that people decided about`}.`,
      stolen !== undefined &&
        `The stolen token is not counted: ${describedSummary(stolen)}, ${secondText(stolen.first)}. The theft did not begin before. Now: ${stateText(stolen)}.`,
      investigation.visibility.kind !== 'all' &&
        `${investigation.as} sees only part of this controller: more may have been done, and may remain.`,
      chainLines(chain, all),
    ),
    beforeTokenPart(investigation, all),
    groupPart('ways_in', remaining, all),
    groupPart('code_later', remaining, all),
    groupPart('ran', items, all),
    groupPart('other', all ? items.filter((item) => !decided.includes(item)) : remaining, all),
    decidedPart(decided, known),
    seenAgainPart(remaining, { madeAt, known }),
    lines(
      dealtWith.length > 0 &&
        (all
          ? ['Deleted, undone or changed since:', ...dealtWith.flatMap(itemLines)]
          : `Deleted, undone or changed since: ${numberText(dealtWith.length)}. Add --all to see them.`),
    ),
    unattributedPart(unknowns, all),
    ...unknowns.groups.map(({ title, texts }) => lines(`${title}:`, list(...texts))),
  ];
}

/** The first line about an investigation of a stream that is not whole; none where nothing is known to be missing. */
export function notReadText({ stream }: Pick<Investigation, 'stream'>): readonly string[] {
  return stream.hole == null ? [] : [`Not everything was read, and more may remain. ${stream.hole}`];
}

/** What people marked as honest work, or handed over; nothing without it. */
function decidedPart(items: readonly InvestigationItem[], { marks }: CaseKnown): Part {
  return lines(
    items.length > 0 && 'Still there, and marked. A mark says what its person says, and was not checked:',
    list(
      ...items.map(({ id, summary }) => {
        const handed = marks.handedOver.get(id);
        const mark = handed ?? marks.honest.get(id);
        const what = handed === undefined ? 'honest work' : `handed over to ${handed.to}`;
        return `${summary} [${id}]: ${what}${mark === undefined ? '' : markText(mark)}`;
      }),
    ),
  );
}

/** What somebody said to have dealt with by hand, and what is found there still. */
function seenAgainPart(
  items: readonly InvestigationItem[],
  { madeAt, known }: { readonly madeAt: string; readonly known: CaseKnown },
): Part {
  const seen = items.flatMap((item) => {
    const standing = standingOf(item, { madeAt, marks: known.marks });
    return standing?.is === 'seen_again' ? [`${item.summary} [${item.id}]${markText(standing.mark)}`] : [];
  });
  return lines(
    seen.length > 0 && 'Dealt with by hand, as its person said, but there still or not checked:',
    list(...seen),
  );
}

function markText({ by, at, why }: ItemMark): string {
  return `, by ${by}, ${secondText(at)}${why === null ? '' : `: "${why}"`}`;
}

/** The owner's own work, as far as the stolen token's age tells it; nothing where the period has none. */
function beforeTokenPart({ beforeToken }: Investigation, all: boolean): Part {
  if (beforeToken === undefined) return lines();
  const { items, madeAt, isWhole } = beforeToken;
  const shown = all ? items : items.slice(0, MAX_OF_KIND);
  const more = items.length - shown.length;
  return lines(
    `From before the stolen token was made, ${secondText(madeAt)}; taken for the owner's own work: ${countText(items.length, 'item')}. ${items.length === 0 ? '' : 'They are not cleaned.'}`.trim(),
    list(
      ...shown.map(({ first, summary }) => `${secondText(first)}  ${summary}`),
      more > 0 && `and ${numberText(more)} more. Add --all to list them.`,
      !isWhole && 'More was done than was read.',
    ),
  );
}

function unattributedPart({ unattributed, unattributedCount }: Unknowns, all: boolean): Part {
  const shown = all ? unattributed : unattributed.slice(0, MAX_UNATTRIBUTED);
  const more = unattributedCount - shown.length;
  return lines(
    shown.length > 0 && 'Entries without an actor, about access, newest first:',
    list(
      ...shown.map(({ at, operation, object, owner, fields }) => {
        const whose = owner == null ? '' : ` of ${owner}`;
        const what = fields.length === 0 ? '' : ` (${fields.join(', ')})`;
        return `${secondText(at)}  ${operation} ${object.kind} ${object.name ?? object.id ?? ''}${whose}${what}`;
      }),
      shown.length > 0 && more > 0 && `and ${numberText(more)} more${all ? '' : '. Add --all to see them'}.`,
    ),
  );
}

function subjectText(subject: InvestigationSubject): string {
  switch (subject.kind) {
    case 'user':
      return `user ${subject.name}`;
    case 'token':
      return `access token ${subject.id} of ${subject.user}`;
    case 'application':
      return `application ${subject.name}, used by ${subject.users.length === 0 ? 'no user' : subject.users.join(', ')}`;
  }
}

function linkText({ user, by, how, since }: Investigation['chain'][number]): string {
  const what = how === 'made' ? 'made by' : 'whose password was set by';
  return `Included: ${user.username}, ${what} ${by?.username ?? 'an unknown user'}, from ${secondText(since)}.`;
}

function chainLines(chain: Investigation['chain'], all: boolean): string[] {
  const others = chain.filter(({ by }) => by !== null);
  const more = all ? 0 : Math.max(0, others.length - MAX_OF_KIND);
  return [
    ...others.slice(0, others.length - more).map(linkText),
    ...(more === 0 ? [] : [`Included: ${countText(more, 'more user')}. Add --all to list them.`]),
  ];
}

function groupPart(group: ItemGroup, items: readonly InvestigationItem[], all: boolean): Part {
  const some = items.filter((item) => item.group === group);
  if (some.length === 0) return lines(group !== 'other' && `${HEADINGS[group]}: 0.`);
  const byKind = [...Map.groupBy(some, ({ object }) => object.kind)];
  const long = all ? [] : byKind.filter(([, each]) => each.length > MAX_OF_KIND);
  const hidden = new Set(long.flatMap(([, each]) => each.slice(MAX_OF_KIND)));
  return lines(
    `${HEADINGS[group]}: ${numberText(some.length)}.`,
    some.filter((item) => !hidden.has(item)).flatMap(itemLines),
    list(
      ...long.map(
        ([kind, each]) =>
          `${numberText(each.length - MAX_OF_KIND)} more of the kind ${nounOf(kind)}. Add --all to list them.`,
      ),
    ),
  );
}

function itemLines(item: InvestigationItem): readonly Lines[] {
  const { id, summary, by, first, risk, state, stateReason, changes, changedSince, findings, job, remedy } =
    item;
  const who = by.length === 0 ? '' : ` by ${by.map(({ username }) => username).join(', ')}`;
  const below = [
    findings[0]?.message,
    // Who gained access is said as well where something else is worse.
    ...findings.slice(1).flatMap(({ rule, message }) => (rule === 'moved' ? message : [])),
    job !== null && jobText(job),
    state !== 'there' && state !== 'running' && `Now: ${stateReason ?? `${state.replace('_', ' ')}.`}`,
    ...(item.act === 'changed' ? changes.map(changeText) : []),
    ...changedSince
      .slice(0, 3)
      .map(
        (change) =>
          `Changed since by ${change.by?.username ?? 'no recorded actor'}, ${secondText(change.at)}: ${change.operation}${change.fields.length === 0 ? '' : ` ${change.fields.join(', ')}`}`,
      ),
    remedy !== null && remedyText(remedy),
  ];
  return [
    { mark: risk ?? '-', text: `${summary}${who}, ${secondText(first)} [${id}]` },
    ...below.map((text) => text && { text, depth: 3 }),
  ];
}

/** What to do about an item, and how. */
export function remedyText({ kind, text, isUntried }: ItemRemedy): string {
  const how = { command: 'Run', call: 'Send', manual: 'By hand' }[kind];
  return `${how}${isUntried === true ? ' (not tried on a controller)' : ''}: ${text}`;
}

function jobText({
  status,
  launchType,
  credentials,
  hosts,
  template,
}: NonNullable<InvestigationItem['job']>): string {
  const parts = [
    status,
    ...(launchType === null ? [] : [launchType]),
    ...(template?.name == null ? [] : [`from ${template.name}`]),
    ...(hosts === null ? [] : [countText(hosts, 'host')]),
    ...(credentials.length === 0 ? [] : [`credentials ${credentials.join(', ')}`]),
  ];
  return parts.join('; ');
}

const FIELD_STATES: Readonly<Record<FieldChange['state'], string>> = {
  as_left: '',
  left_in_part: ' (changed since by others, in force in part)',
  as_before: ' (set back)',
  changed: ' (changed since, not in force)',
  not_reviewed: ' (changed since by others, not reviewed)',
  unknown: ' (not checked)',
};

function changeText({ field, before, after, hidden, state }: FieldChange): string {
  if (hidden) return `${field}: hidden${FIELD_STATES[state]}`;
  const from = before === undefined ? '' : `${valueText(before)} -> `;
  return `${field}: ${from}${valueText(after)}${FIELD_STATES[state]}`;
}

/** A recorded value, cut where it is long. */
export function valueText(value: unknown): string {
  const text = JSON.stringify(value ?? null);
  return text.length <= MAX_VALUE ? text : `${text.slice(0, MAX_VALUE)}…`;
}
