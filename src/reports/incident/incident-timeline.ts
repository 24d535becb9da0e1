import { controllerTime } from '../../domain/clock-difference.ts';
import { notNamed } from '../../domain/investigation/earlier-items.ts';
import {
  describedSummary,
  type Investigation,
  type InvestigationItem,
  isStillThere,
  isStolenToken,
  isSwitchedOff,
  stateText,
  whoText,
} from '../../domain/investigation/investigation.ts';
import type { Severity } from '../../domain/policy/rule.ts';
import { someOf } from '../../domain/text.ts';
import type { IncidentReport } from '../../operations/incident/gather-report.ts';
import { type Document, lines, section } from '../document.ts';
import { runSentence } from '../log-report.ts';
import { countText, secondText } from '../tables/text.ts';
import { type ChainNode, chainPicture, STOLEN } from './chain-picture.ts';

/** The most lines of the timeline. */
const MAX_EVENTS = 400;

/** The investigations of each subject, by the time at which they were made. One of a token is about its owner. */
export function bySubject(investigations: readonly Investigation[]): readonly (readonly Investigation[])[] {
  const groups = Map.groupBy(investigations, ({ subject }) =>
    JSON.stringify(subject.kind === 'token' ? ['user', subject.user] : [subject.kind, subject.name]),
  );
  return [...groups.values()];
}

/** The ids of the items that are tokens which were stolen, by the subjects of investigations: no acts of the intruder. */
export function stolenIn(investigations: readonly Investigation[]): ReadonlySet<string> {
  const found = investigations.flatMap((each) => each.items.filter((item) => isStolenToken(item, each)));
  return new Set(found.map(({ id }) => id));
}

/**
 * All that the investigations found, as the last one of each subject has it.
 *
 * @throws Error without an investigation.
 */
export function combined(investigations: readonly Investigation[]): Investigation {
  const last = investigations.at(-1);
  if (last === undefined) throw new Error('there is no investigation');
  const items = new Map<string, InvestigationItem>();
  for (const item of bySubject(investigations).flatMap(itemsOf)) {
    const known = items.get(item.id);
    // Found with two subjects: what may remain is not hidden by what the other says.
    if (known === undefined || !isStillThere(known)) items.set(item.id, item);
  }
  const chain = new Map(
    investigations
      .flatMap((each) => each.chain)
      .map((link) => [`${link.user.id}:${link.user.username}`, link]),
  );
  const hole = bySubject(investigations).flatMap((each) => each.at(-1)?.stream.hole ?? []);
  const stream = { ...last.stream, ...(hole[0] !== undefined && { hole: hole[0] }) };
  return { ...last, stream, items: [...items.values()], chain: [...chain.values()] };
}

/** What the investigations of one subject found, as the last one has it. */
function itemsOf(investigations: readonly Investigation[]): readonly InvestigationItem[] {
  const last = investigations.at(-1);
  if (last === undefined) return [];
  const before = new Map(
    investigations.slice(0, -1).flatMap(({ items }) => items.map((item) => [item.id, item])),
  );
  const known = new Set([...before.values()].flatMap(({ entries }) => entries));
  const named = last.items.filter(({ id, object, entries }) => {
    const isLost = object.id === null && entries.length > 0 && entries.every((entry) => known.has(entry));
    return before.has(id) || !isLost;
  });
  const withKnownNames = named.map((item) => withNames(item, before.get(item.id)));
  return [...notNamed([...before.values()], last), ...withKnownNames];
}

/** The stream forgets the names of deleted objects: an earlier investigation still had them. */
function withNames(item: InvestigationItem, before: InvestigationItem | undefined): InvestigationItem {
  const isNamed = [item.object, item.other].every((each) => each === null || each.name !== null);
  return isNamed || before === undefined ? item : { ...item, summary: before.summary, object: before.object };
}

/** What one side did at a time. */
interface Event {
  readonly at: string;
  readonly owner: string;
  readonly intruder: string;
  readonly responders: string;
}

const RISK_ORDER: readonly (Severity | null)[] = ['critical', 'high', 'medium', 'low', null];

/** Orders items, those with the highest risk first. */
export function byRisk(one: InvestigationItem, other: InvestigationItem): number {
  return RISK_ORDER.indexOf(one.risk) - RISK_ORDER.indexOf(other.risk);
}

/** The accounts investigated beside the responders, and the owner where something is known to be the owner's, in order of time. */
export function timeline({ incident, investigations, runs, own }: IncidentReport): Document {
  const found = investigations.length === 0 ? [] : combined(investigations).items;
  const worst = found.toSorted((one, other) => RISK_ORDER.indexOf(one.risk) - RISK_ORDER.indexOf(other.risk));
  const listed = worst.slice(0, MAX_EVENTS);
  const stolen = stolenIn(investigations);
  const noteOf = ({ id }: InvestigationItem) => (stolen.has(id) ? STOLEN : '');
  const events: Event[] = [
    ...listed.map((item) => ({
      at: item.first,
      owner: '',
      intruder: `${deedText(item)}${noteOf(item)}`,
      responders: '',
    })),
    ...own
      .slice(0, MAX_EVENTS)
      .map(({ item }) => ({ at: item.first, owner: deedText(item), intruder: '', responders: '' })),
    ...runs.slice(0, MAX_EVENTS).map((run) => ({
      at: beganAt(run),
      owner: '',
      intruder: '',
      // What a person said of an item has no reason of its own where it repeats the one of the lockdown.
      responders: runSentence(
        run.state === 'noted' && run.reason === incident.reason ? { ...run, reason: null } : run,
        { whole: true },
      ),
    })),
  ];
  const more =
    found.length -
    listed.length +
    Math.max(0, runs.length - MAX_EVENTS) +
    Math.max(0, own.length - MAX_EVENTS);
  if (events.length === 0) return [lines('No events.')];
  return [
    {
      kind: 'table',
      heads: ['Time', ...(own.length > 0 ? ['Owner'] : []), 'Accounts investigated', 'Responders'],
      rows: events
        .toSorted((one, other) => one.at.localeCompare(other.at))

        .map(({ at, owner, intruder, responders }) => [
          secondText(at),
          ...(own.length > 0 ? [owner] : []),
          intruder,
          responders,
        ]),
    },
    lines(more > 0 && `${countText(more, 'event is', 'events are')} left out, those with the lowest risk.`),
  ];
}

/** When a run began, by the clock that the intruder's deeds are dated by. */
function beganAt({ began, target }: IncidentReport['runs'][number]): string {
  return controllerTime({ at: began, target }).toISOString();
}

function deedText(item: InvestigationItem): string {
  const { entryCount, group, job, first, last } = item;
  const summary = describedSummary(item);
  const who = whoText(item);
  const again =
    last === first ? '' : `, ${countText(entryCount, 'entry', 'entries')} until ${secondText(last)}`;
  const ended =
    job === null ? '' : `, ${job.status}${job.finished === null ? '' : ` at ${secondText(job.finished)}`}`;
  return `${who === '' ? '' : `${who}: `}${summary}${changesText(item)}${group === 'ran' ? ended : again}`;
}

/** The fields and the characters of a value that a line has. */
const MAX_FIELDS = 5;
const MAX_VALUE = 80;

/** What was changed from what to what; nothing for other acts. Values that may be secrets are not told. */
function changesText({ act, changes }: Pick<InvestigationItem, 'act' | 'changes'>): string {
  if (act !== 'changed' || changes.length === 0) return '';
  const named = changes.map(({ field, before, after, hidden }) => {
    if (hidden) return `${field} (not shown)`;
    return before === undefined
      ? `${field}: ${valueText(after)}`
      : `${field} changed from ${valueText(before)} to ${valueText(after)}`;
  });
  return ` (${someOf(named, MAX_FIELDS, '; ')})`;
}

/** What was set back, and what it was; the state in words for anything else that does not remain. */
export function overText(item: InvestigationItem): string {
  if (isSwitchedOff(item)) return `${stateText(item)}, not deleted`;
  if (item.state !== 'undone' || item.act !== 'changed' || item.changes.length === 0)
    return `${stateText(item)}${changesText(item)}`;
  const named = item.changes.map((change) => {
    const { field, hidden, after, isDefault } = change;
    if (hidden) return `${field} (not shown)`;
    const back = 'now' in change ? change.now : change.before;
    const to = isDefault === true ? ' to its default' : back === undefined ? '' : ` to ${valueText(back)}`;
    return `${field}${to} (it was ${valueText(after)})`;
  });
  return `set back: ${someOf(named, MAX_FIELDS, '; ')}`;
}

function valueText(value: unknown): string {
  const text = JSON.stringify(value ?? null);
  return text.length <= MAX_VALUE ? text : `${text.slice(0, MAX_VALUE)}…`;
}

/** Who made what, as a picture. */
export function chainParts(nodes: readonly ChainNode[]): Document {
  return [
    section('Who made what'),
    {
      kind: 'picture',
      svg: chainPicture(nodes),
      lines: nodes.map(({ depth, text, state, off }) => ({
        depth: depth + 1,
        text: `${text}${off === undefined ? STATES[state] : `: ${off}, not deleted`}`,
      })),
    },
  ];
}

const STATES = {
  user: '',
  open: ': remains',
  closed: ': gone, undone or finished',
  unknown: ': not checked',
};
