import { someOf } from '@tokenctl/common/text.ts';
import { controllerTime } from '../../domain/clock-difference.ts';
import {
  describedSummary,
  type InvestigationItem,
  isSwitchedOff,
  stateText,
  whoText,
} from '../../domain/investigation/investigation.ts';
import type { Severity } from '../../domain/policy/rule.ts';
import type { IncidentReport } from '../../operations/incident/gather-report.ts';
import { type Document, lines, section } from '../document.ts';
import { runSentence } from '../log-report.ts';
import { countText, secondText } from '../tables/text.ts';
import { type ChainNode, chainPicture, STOLEN } from './chain-picture.ts';
import { valueText } from './item-words.ts';

/** The maximum number of lines in the timeline. */
const MAX_EVENTS = 400;

/** What one side did at a time. */
interface Event {
  readonly at: string;
  readonly owner: string;
  readonly intruder: string;
  readonly responders: string;
}

const RISK_ORDER: readonly (Severity | null)[] = ['critical', 'high', 'medium', 'low', null];

/** Sorts items, highest risk first. */
export function byRisk(one: InvestigationItem, other: InvestigationItem): number {
  return RISK_ORDER.indexOf(one.risk) - RISK_ORDER.indexOf(other.risk);
}

/** The investigated accounts next to the responders, and the owner's own work, in chronological order. */
export function timeline({ incident, found: all, runs, own }: IncidentReport): Document {
  const found = all?.items ?? [];
  const worst = found.toSorted((one, other) => RISK_ORDER.indexOf(one.risk) - RISK_ORDER.indexOf(other.risk));
  const listed = worst.slice(0, MAX_EVENTS);
  const noteOf = ({ id }: InvestigationItem) => (all?.stolen.has(id) === true ? STOLEN : '');
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
      // By the clock that dates the intruder's actions.
      at: controllerTime({ at: run.began, target: run.target }).toISOString(),
      owner: '',
      intruder: '',
      // A note about an item is shown without its reason if that repeats the lockdown's.
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
    lines(more > 0 && `${countText(more, 'event is', 'events are')} omitted, those with the lowest risk.`),
  ];
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

/** The maximum number of fields per line, and characters per value. */
const MAX_FIELDS = 5;
const MAX_VALUE = 80;

/** The changes from old to new values; empty for other actions. Omits values that may be secrets. */
function changesText({ act, changes }: Pick<InvestigationItem, 'act' | 'changes'>): string {
  if (act !== 'changed' || changes.length === 0) return '';
  const named = changes.map(({ field, before, after, hidden }) => {
    if (hidden) return `${field} (not shown)`;
    return before === undefined
      ? `${field}: ${valueText(after, MAX_VALUE)}`
      : `${field} changed from ${valueText(before, MAX_VALUE)} to ${valueText(after, MAX_VALUE)}`;
  });
  return ` (${someOf(named, MAX_FIELDS, '; ')})`;
}

/** The restored values, and what they were; for anything else that no longer exists, the state in words. */
export function overText(item: InvestigationItem): string {
  if (isSwitchedOff(item)) return `${stateText(item)}, not deleted`;
  if (item.state !== 'undone' || item.act !== 'changed' || item.changes.length === 0)
    return `${stateText(item)}${changesText(item)}`;
  const named = item.changes.map((change) => {
    const { field, hidden, after, isDefault } = change;
    if (hidden) return `${field} (not shown)`;
    const back = 'now' in change ? change.now : change.before;
    const to =
      isDefault === true ? ' to its default' : back === undefined ? '' : ` to ${valueText(back, MAX_VALUE)}`;
    return `${field}${to} (it was ${valueText(after, MAX_VALUE)})`;
  });
  return `restored: ${someOf(named, MAX_FIELDS, '; ')}`;
}

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
