import {
  type Actor,
  type FieldChange,
  type Investigation,
  type InvestigationItem,
  type InvestigationSubject,
  type ItemGroup,
  remains,
} from '../../domain/investigation/investigation.ts';
import { nounOf } from '../../domain/investigation/kinds.ts';
import { countText, numberText, printable } from '../../reports/tables/text.ts';

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

/** An investigation for people: the chain, the items that remain by group, what ran, what is not known. */
export function investigationText(investigation: Investigation, options: { readonly all: boolean }): string {
  const { items, chain, stream, limits, mayHaveRead, unattributed } = investigation;
  const remaining = items.filter(remains);
  const dealtWith = items.filter((item) => !remains(item) && item.group !== 'ran' && item.group !== 'other');
  const lines = [
    `Investigated ${subjectText(investigation.subject)} at ${investigation.target.address} (context ${investigation.target.context}), from ${investigation.since} to ${investigation.until}.`,
    `${countText(stream.read, 'entry', 'entries')} of the activity stream, ${countText(items.length, 'item')}: ${numberText(remaining.length)} ${remaining.length === 1 ? 'remains' : 'remain'}.`,
    ...(investigation.visibility.kind === 'all'
      ? []
      : [`${investigation.as} sees only part of this controller: more may have been done, and may remain.`]),
    ...chainLines(chain, options.all),
    ...section('ways_in', remaining, options.all),
    ...section('code_later', remaining, options.all),
    ...section('ran', items, options.all),
    ...(options.all ? section('other', items, true) : []),
    ...(dealtWith.length === 0
      ? []
      : [
          '',
          options.all
            ? 'Deleted, undone or changed since:'
            : `Deleted, undone or changed since: ${numberText(dealtWith.length)}. Add --all to see them.`,
        ]),
    ...(options.all ? dealtWith.flatMap(itemLines) : []),
    ...(unattributed.length === 0
      ? []
      : [
          '',
          'Entries without an actor, about access:',
          ...unattributed
            .slice(0, MAX_UNATTRIBUTED)
            .map(
              ({ at, operation, object, fields }) =>
                `  ${at}  ${operation} ${object.kind} ${object.name ?? object.id ?? ''}${fields.length === 0 ? '' : ` (${fields.join(', ')})`}`,
            ),
        ]),
    '',
    'What may have been read:',
    ...mayHaveRead.map((text) => `  ${text}`),
    '',
    'Limits of the evidence:',
    ...limits.map(({ text }) => `  ${text}`),
  ];
  return `${lines.map(printable.value).join('\n')}\n`;
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
  return `Included: ${user.username}, ${what} ${by?.username ?? 'an unknown user'}, from ${since}.`;
}

function chainLines(chain: Investigation['chain'], all: boolean): string[] {
  const others = chain.filter(({ by }) => by !== null);
  const more = all ? 0 : Math.max(0, others.length - MAX_OF_KIND);
  return [
    ...others.slice(0, others.length - more).map(linkText),
    ...(more === 0 ? [] : [`Included: ${countText(more, 'more user')}. Add --all to list them.`]),
  ];
}

function section(group: ItemGroup, items: readonly InvestigationItem[], all: boolean): string[] {
  const some = items.filter((item) => item.group === group);
  if (some.length === 0) return group === 'other' ? [] : ['', `${HEADINGS[group]}: 0.`];
  const byKind = [...Map.groupBy(some, ({ object }) => object.kind)];
  const hidden = new Set(all ? [] : byKind.flatMap(([, each]) => each.slice(MAX_OF_KIND)));
  return [
    '',
    `${HEADINGS[group]}: ${numberText(some.length)}.`,
    ...some.filter((item) => !hidden.has(item)).flatMap(itemLines),
    ...byKind.flatMap(([kind, each]) =>
      all || each.length <= MAX_OF_KIND
        ? []
        : [
            `  ${numberText(each.length - MAX_OF_KIND)} more of the kind ${nounOf(kind)}. Add --all to list them.`,
          ],
    ),
  ];
}

function itemLines(item: InvestigationItem): string[] {
  const { id, summary, by, first, risk, state, stateReason, changes, changedSince, findings, job, remedy } =
    item;
  const who = by.length === 0 ? '' : ` by ${by.map(nameOf).join(', ')}`;
  return [
    `  ${(risk ?? '-').padEnd(8)}  ${summary}${who}, ${first} [${id}]`,
    ...(findings[0] === undefined ? [] : [`      ${findings[0].message}`]),
    ...(job === null ? [] : [`      ${jobText(job)}`]),
    ...(state === 'there' || state === 'running'
      ? []
      : [`      Now: ${stateReason ?? `${state.replace('_', ' ')}.`}`]),
    ...(item.act === 'changed' ? changes.map((change) => `      ${changeText(change)}`) : []),
    ...changedSince
      .slice(0, 3)
      .map(
        (change) =>
          `      Changed since by ${change.by?.username ?? 'no recorded actor'}, ${change.at}: ${change.operation}${change.fields.length === 0 ? '' : ` ${change.fields.join(', ')}`}`,
      ),
    ...(remedy === null
      ? []
      : [
          `      ${remedy.kind === 'command' ? 'Run' : remedy.kind === 'call' ? 'Send' : 'By hand'}: ${remedy.text}`,
        ]),
  ];
}

function nameOf({ username }: Actor): string {
  return username;
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
  as_before: ' (as before again)',
  changed: ' (changed since)',
  unknown: ' (not checked)',
};

function changeText({ field, before, after, hidden, state }: FieldChange): string {
  if (hidden) return `${field}: hidden${FIELD_STATES[state]}`;
  const from = before === undefined ? '' : `${valueText(before)} -> `;
  return `${field}: ${from}${valueText(after)}${FIELD_STATES[state]}`;
}

function valueText(value: unknown): string {
  const text = JSON.stringify(value ?? null);
  return text.length <= MAX_VALUE ? text : `${text.slice(0, MAX_VALUE)}…`;
}
