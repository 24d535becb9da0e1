import {
  describedSummary,
  type Investigation,
  type InvestigationItem,
  type InvestigationSubject,
  type ItemGroup,
  isStillThere,
  isStolenToken,
  stateText,
  whoText,
} from '../../domain/investigation/investigation.ts';
import { nounOf } from '../../domain/investigation/kinds.ts';
import {
  type CaseItem,
  caseItems,
  type KnownItems,
  NOTHING_KNOWN,
} from '../../operations/incident/case-items.ts';
import { type Unknowns, unknownsOf } from '../../operations/investigation/unknowns.ts';
import type { ItemMark } from '../../operations/journal/marked-items.ts';
import type { OwnAct } from '../../operations/journal/own-acts.ts';
import { type Document, type Lines, lines, list, type Part } from '../../reports/document.ts';
import {
  changeText,
  jobText,
  laterText,
  notReadText,
  remedyText,
} from '../../reports/incident/item-words.ts';
import { countText, numberText, secondText } from '../../reports/tables/text.ts';

/** The maximum number of entries without an actor to show. */
const MAX_UNATTRIBUTED = 10;
/** The maximum number of users, and of items per kind and group, without --all: there may be thousands. */
const MAX_OF_KIND = 20;

const HEADINGS: Readonly<Record<ItemGroup, string>> = {
  ways_in: 'Remaining access',
  code_later: 'Code that can run later',
  ran: 'What ran',
  other: 'Other changes',
};

/** An investigation for display: chain, remaining items by group, what ran, marks, and what is unknown. */
export function investigationDocument(
  investigation: Investigation,
  { all, known = NOTHING_KNOWN }: { all: boolean; known?: KnownItems },
): Document {
  const { items, chain, stream, target, since, until } = investigation;
  const { ownActs, provenActs } = known;
  const there = caseItems(investigation, known).filter(({ item }) => isStillThere(item));
  const isDecided = ({ fate }: CaseItem) => fate === 'legitimate' || fate === 'handed_over';
  const decided = there.filter(isDecided);
  const decidedItems = new Set(decided.map(({ item }) => item));
  const remaining = there.flatMap((each) => (isDecided(each) ? [] : each.item));
  const [stolen] = items.filter((item) => isStolenToken(item, investigation));
  const acts = items.length - (stolen === undefined ? 0 : 1);
  const left = remaining.length - (stolen !== undefined && isStillThere(stolen) ? 1 : 0);
  const dealtWith = items.filter(
    (item) => !isStillThere(item) && item.group !== 'ran' && item.group !== 'other',
  );
  const unknowns = unknownsOf([investigation], provenActs);
  return [
    lines(
      ...notReadText(investigation),
      `Investigated ${subjectText(investigation.subject)} at ${target.address} (context ${target.context}), from ${secondText(since)} to ${secondText(until)}.`,
      `${countText(stream.read, 'entry', 'entries')} of the activity stream, ${countText(acts, 'item')}: ${numberText(left)} ${left === 1 ? 'remains' : 'remain'}${decided.length === 0 ? '' : `, plus ${numberText(decided.length)} with a decision`}.`,
      stolen !== undefined &&
        `The stolen token is not counted: ${describedSummary(stolen)}, ${secondText(stolen.first)}. The incident did not start before that. Now: ${stateText(stolen)}.`,
      investigation.visibility.kind !== 'all' &&
        `${investigation.as} can see only part of this controller. There may be more actions and remaining items.`,
      chainLines(chain, all),
    ),
    beforeTokenPart(investigation, all),
    groupPart('ways_in', remaining, { all, ownActs }),
    groupPart('code_later', remaining, { all, ownActs }),
    groupPart('ran', items, { all, ownActs }),
    groupPart('other', all ? items.filter((item) => !decidedItems.has(item)) : remaining, { all, ownActs }),
    decidedPart(decided),
    seenAgainPart(there),
    lines(
      dealtWith.length > 0 &&
        (all
          ? ['Deleted, undone or changed since:', ...dealtWith.flatMap((item) => itemLines(item, ownActs))]
          : `Deleted, undone or changed since: ${numberText(dealtWith.length)}. Add --all to see them.`),
    ),
    unattributedPart(unknowns, all),
    ...unknowns.groups.map(({ title, texts }) => lines(`${title}:`, list(...texts))),
  ];
}

/** Items that people marked as legitimate or reassigned; empty if there are none. */
function decidedPart(decided: readonly CaseItem[]): Part {
  return lines(
    decided.length > 0 && "Still there, and marked. A mark is a person's statement that was not checked:",
    list(
      ...decided.map(({ item: { id, summary }, said: { legitimate, handedOver } }) => {
        const what = legitimate === null ? `reassigned to ${handedOver?.to}` : 'legitimate';
        return `${summary} [${id}]: ${what}${markText(legitimate ?? handedOver)}`;
      }),
    ),
  );
}

/** Items marked as resolved manually that were found again. */
function seenAgainPart(there: readonly CaseItem[]): Part {
  const seen = there.filter(({ fate }) => fate === 'seen_again');
  return lines(
    seen.length > 0 && 'Reported as resolved manually, but still there or not checked:',
    list(...seen.map(({ item, said }) => `${item.summary} [${item.id}]${markText(said.byHand)}`)),
  );
}

function markText(mark: ItemMark | null): string {
  if (mark === null) return '';
  const { by, at, why } = mark;
  return `, by ${by}, ${secondText(at)}${why === null ? '' : `: "${why}"`}`;
}

/** The owner's own work, as far as the stolen token's age shows it; empty if the period has none. */
function beforeTokenPart({ beforeToken }: Investigation, all: boolean): Part {
  if (beforeToken === undefined) return lines();
  const { items, madeAt, isWhole } = beforeToken;
  const shown = all ? items : items.slice(0, MAX_OF_KIND);
  const more = items.length - shown.length;
  return lines(
    `From before the stolen token was created, ${secondText(madeAt)}, and considered the owner's own work: ${countText(items.length, 'item')}. ${items.length === 0 ? '' : 'They are not cleaned.'}`.trim(),
    list(
      ...shown.map(({ first, summary }) => `${secondText(first)}  ${summary}`),
      more > 0 && `and ${numberText(more)} more. Add --all to list them.`,
      !isWhole && 'Results truncated.',
    ),
  );
}

function unattributedPart({ unattributed, unattributedCount, ours }: Unknowns, all: boolean): Part {
  const shown = all ? unattributed : unattributed.slice(0, MAX_UNATTRIBUTED);
  const more = unattributedCount - shown.length;
  return lines(
    shown.length > 0 && 'Entries without an actor that affect access, newest first:',
    list(
      ...shown.map(({ at, operation, object, other, owner, fields }) => {
        const end = other === undefined ? '' : ` and ${other.kind} ${other.name ?? other.id ?? ''}`;
        const whose = owner == null ? '' : ` of ${owner}`;
        const what = fields.length === 0 ? '' : ` (${fields.join(', ')})`;
        return `${secondText(at)}  ${operation} ${object.kind} ${object.name ?? object.id ?? ''}${end}${whose}${what}`;
      }),
      shown.length > 0 && more > 0 && `and ${numberText(more)} more${all ? '' : '. Add --all to see them'}.`,
    ),
    ours,
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

function groupPart(
  group: ItemGroup,
  items: readonly InvestigationItem[],
  { all, ownActs }: { all: boolean; ownActs: readonly OwnAct[] },
): Part {
  const some = items.filter((item) => item.group === group);
  if (some.length === 0) return lines(group !== 'other' && `${HEADINGS[group]}: 0.`);
  const byKind = [...Map.groupBy(some, ({ object }) => object.kind)];
  const long = all ? [] : byKind.filter(([, each]) => each.length > MAX_OF_KIND);
  const hidden = new Set(long.flatMap(([, each]) => each.slice(MAX_OF_KIND)));
  return lines(
    `${HEADINGS[group]}: ${numberText(some.length)}.`,
    some.filter((item) => !hidden.has(item)).flatMap((item) => itemLines(item, ownActs)),
    list(
      ...long.map(
        ([kind, each]) =>
          `${numberText(each.length - MAX_OF_KIND)} more of the kind ${nounOf(kind)}. Add --all to list them.`,
      ),
    ),
  );
}

function itemLines(item: InvestigationItem, ownActs: readonly OwnAct[]): readonly Lines[] {
  const { id, summary, first, risk, state, stateReason, changes, changedSince, findings, job, remedy } = item;
  const who = whoText(item);
  const below = [
    findings[0]?.message,
    // Who gained access is also shown if another finding is more severe.
    ...findings.slice(1).flatMap(({ rule, message }) => (rule === 'moved' ? message : [])),
    job !== null && jobText(job),
    state !== 'there' && state !== 'running' && `Now: ${stateReason ?? `${state.replace('_', ' ')}.`}`,
    ...(item.act === 'changed' ? changes.map((each) => changeText(each, { item })) : []),
    ...changedSince.slice(0, 3).map((each) => `Changed since by ${laterText(each, { item, ownActs })}`),
    remedy !== null && remedyText(remedy),
  ];
  return [
    { mark: risk ?? '-', text: `${summary}${who === '' ? '' : ` by ${who}`}, ${secondText(first)} [${id}]` },
    ...below.map((text) => text && { text, depth: 3 }),
  ];
}
