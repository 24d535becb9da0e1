import { someOf } from '@tokenctl/common/text.ts';
import { pathName, uncheckedPaths, untilText } from '../../domain/access.ts';
import { objectText } from '../../domain/investigation/collect-items.ts';
import {
  describedSummary,
  type Investigation,
  type InvestigationItem,
  isStillThere,
} from '../../domain/investigation/investigation.ts';
import { shellWord } from '../../domain/remedies.ts';
import { coveredBy, type IncidentReport } from '../../operations/incident/gather-report.ts';
import { unknownsOf } from '../../operations/investigation/unknowns.ts';
import { CLOCKS_MS } from '../../operations/journal/own-acts.ts';
import { code, type Document, lines, list, type Part, section, strong } from '../document.ts';
import { countText, secondsText, secondText, timeText } from '../tables/text.ts';
import { STOLEN } from './chain-picture.ts';
import { endedCounts } from './ended-counts.ts';
import { chainParts, overText, timeline } from './incident-timeline.ts';
import { outText } from './intruder-out.ts';
import { MAX_ITEMS, notReadText } from './item-words.ts';
import { endText, madeAccess, openAfterText } from './made-access.ts';
import { oldPasswords } from './old-passwords.ts';
import { OWN_WORK, ownWorkParts } from './own-work.ts';
import { isAct, whatHappened, whatTheyDid, withTitle } from './what-happened.ts';
import { chainOf, notInvestigated, remainingTexts, subjectText, whatRemains } from './what-remains.ts';

const MAX_UNATTRIBUTED = 20;
const MAX_NAMED = 10;

/** The location of the log and the investigations, for the commands that verify the report. */
export interface ReportPlace {
  /** The log's file or database, without credentials. */
  readonly log: string;
  readonly version: string;
}

/**
 * An incident for readers who were not involved: what happened, how quickly it was locked down, what remains,
 * and the evidence; then the timeline, the chain, what was ended, what remains, what is unknown, and how to
 * verify the evidence.
 */
export function incidentParts(report: IncidentReport, place: ReportPlace): Document {
  const { incident, found } = report;
  return [
    { kind: 'heading', level: 1, text: `Incident ${incident.id}: ${incident.selection}` },
    ...streamTexts(found).map(strong),
    section('In short'),
    ...inShort(report),
    about(report),
    section('What happened'),
    ...whatHappened(report),
    section('How do we know?'),
    howDoWeKnow(report),
    section('Timeline'),
    ...timeline(report),
    ...(found === null ? [] : chainParts(chainOf(report, found))),
    section('What was ended'),
    whatWasEnded(report),
    section('What remains'),
    ...whatRemains(report),
    ...ownWorkParts(report),
    section('What is not known'),
    ...whatIsNotKnown(report),
    section('Evidence, and how to check it'),
    ...evidenceParts(report, place),
  ];
}

/** The gaps of the activity stream: the first thing to know about a report. */
function streamTexts(found: IncidentReport['found']): readonly string[] {
  if (found === null)
    return [
      "Not read: the intruder's actions in the activity stream. There may be more remaining items than this report shows.",
    ];
  return [...new Set(found.lasts.flatMap(notReadText))];
}

/** The subject and period of an investigation, and how much of it the activity stream covers. */
function periodText({ since, until, begins, stream, subject, beforeToken }: Investigation): string {
  const given =
    beforeToken !== undefined
      ? ''
      : begins === 'given'
        ? ', considered the earliest possible start of the incident'
        : '';
  const made =
    beforeToken === undefined
      ? ''
      : `. The incident started no earlier than ${secondText(beforeToken.madeAt)}, when the token was created`;
  const gap =
    stream.oldest !== null && stream.oldest > since
      ? `. The activity stream only starts at ${secondText(stream.oldest)}`
      : '';
  return `Investigated: ${subjectText(subject)}, from ${secondText(since)}${given}, to ${secondText(until)}${made}${gap}`;
}

function about({ incident, address, madeAt, found, runs }: IncidentReport): Part {
  const { since, by, reason, ticket, context, lifted, stays } = incident;
  const staying = stays.flatMap(({ what, name }) => (what === 'user' ? name : []));
  const responders = [...new Set(runs.map(({ actor }) => whoText(actor)))];
  return lines(
    list(
      `Controller: ${address} (context ${context})`,
      `Locked down: ${secondText(since)} by ${whoText(by)}`,
      responders.length > 1 &&
        `Responders, according to the audit log: ${someOf(responders, MAX_NAMED, '; ')}`,
      reason !== null && `Reason: ${reason}`,
      ticket !== null && `Ticket: ${ticket}`,
      lifted === null
        ? 'The audit log contains no lift of this incident.'
        : `Case closed, and the lockdown lifted: ${secondText(lifted.at)} by ${lifted.by['user'] ?? 'unknown'}`,
      staying.length > 0 && `Left deactivated by the lift, according to the audit log: ${staying.join(', ')}`,
      found?.lasts.map(periodText),
      `This report: ${timeText(madeAt)}. Times are UTC.`,
    ),
  );
}

/** Who started a run: the operating system user, even behind sudo, and the account on the controller. */
function whoText({ user = 'unknown', sudo_user: behind, host, as }: Readonly<Record<string, string>>) {
  const person = behind === undefined ? user : `${behind} (as ${user})`;
  return `${person}${host === undefined ? '' : ` on ${host}`}${as === undefined ? '' : `, as ${as} there`}`;
}

/**
 * What happened, how quickly it was locked down, and what remains. Every sentence states its basis: an
 * investigation at a given time, or the log.
 */
function inShort(report: IncidentReport): Document {
  const { lockdown, incident, own, found } = report;
  const paths = lockdown?.accessPaths ?? [];
  return [
    found !== null && lines(whatTheyDid(report, found)),
    lines(
      lockdown === null
        ? 'The audit log contains no outcome of a lockdown for this incident.'
        : `According to the audit log, ${lockdownText(lockdown, soonText(report, lockdown.at))}.${pathsCount(paths, 'open')}${pathsCount(paths, 'not_checked')}${openAfterText(report, lockdown.at)}`,
    ),
    ...[outText(report), ...remainingTexts(report)].filter((text) => text !== '').map(strong),
    lines(
      own.length > 0 &&
        `Not counted as the intruder's: ${countText(own.length, 'thing', 'things')}. They are listed under "${OWN_WORK}", with the reason.`,
      incident.lifted !== null &&
        `According to the audit log, it was lifted at ${secondText(incident.lifted.at)}. Revoked tokens stay revoked.`,
      incident.stays.length > 0 &&
        `According to the audit log, the lift did not restore: ${incident.stays.map(({ what, name }) => (what === 'user' ? `the user ${name}, who stays deactivated` : `the role ${name}`)).join('; ')}. ${nowText(report)}`,
    ),
  ];
}

/** How long after the accounts' first action that was, and how much they did later. */
function soonText({ found }: IncidentReport, lockedAt: string): string {
  const times = found?.items.filter(isAct(found)).map(({ first }) => Date.parse(first)) ?? [];
  if (times.length === 0) return '';
  const at = Date.parse(lockedAt);
  const late = times.filter((time) => time > at + CLOCKS_MS).length;
  const after = Math.round((at - Math.min(...times)) / 1000);
  const soon = after > 0 ? `, ${secondsText(after)} after the first of these actions` : '';
  return late === 0 ? soon : `${soon} (${countText(late, 'act is', 'acts are')} from after it)`;
}

/** The state of the users that the lift left, if it was read. */
function nowText({ incident, usersNow }: IncidentReport): string {
  const left = new Set(incident.stays.flatMap(({ what, name }) => (what === 'user' ? name : [])));
  const read = usersNow?.users.filter(({ name, isActive }) => left.has(name) && isActive !== null) ?? [];
  if (usersNow === undefined || read.length < incident.stays.length) return 'The current state was not read.';
  return `Read at ${secondText(usersNow.at.toISOString())}: ${read.map(({ name, isActive }) => `${name} is ${isActive ? 'ACTIVE' : 'deactivated'}`).join(', ')}.`;
}

function lockdownText({ at, result, accessPaths }: NonNullable<IncidentReport['lockdown']>, soon: string) {
  const when = `at ${secondText(at)}${soon}`;
  // As counted in the audit log: a lockdown is partly done if an access path was not checked.
  if (result === 'locked' && uncheckedPaths(accessPaths).length > 0)
    return `the lockdown was partly done ${when}: its steps ran, but not every access path could be checked`;
  return result === 'locked'
    ? `the lockdown was complete ${when}: every step was done`
    : `the lockdown was incomplete ${when}: not every step was done`;
}

type Paths = NonNullable<IncidentReport['lockdown']>['accessPaths'];

/** The access paths that the lockdown found in this state, as a sentence; empty if there are none. */
function pathsText(paths: Paths, state: 'closed' | 'open' | 'not_checked'): string {
  const named = inState(paths, state).map(
    ({ path, until }) => nameText(path) + (until === null ? '' : ` (until ${untilText(until)})`),
  );
  return named.length === 0 ? '' : `${waysText(named.length, state)}: ${named.join(', ')}.`;
}

function pathsCount(paths: Paths, state: 'open' | 'not_checked'): string {
  const { length } = inState(paths, state);
  return length === 0 ? '' : ` ${waysText(length, state)}.`;
}

function inState(paths: Paths, state: 'closed' | 'open' | 'not_checked'): Paths {
  return paths.filter((each) => each.covered && each.state === state);
}

function waysText(count: number, state: 'closed' | 'open' | 'not_checked'): string {
  return `${countText(count, 'access path was', 'access paths were')} ${PATH_STATES[state]}`;
}

const PATH_STATES = { closed: 'closed', open: 'open', not_checked: 'not checked' } as const;

/** The name within a sentence, unlike in lists of access paths. */
function nameText(path: string): string {
  return path === 'revoked_token' ? 'use of a revoked token' : pathName(path).toLowerCase();
}

function howDoWeKnow({ found, evidence, runs }: IncidentReport): Part {
  return lines(
    list(
      found?.lasts.map(
        (last) =>
          `Actions of these accounts: ${countText(last.stream.read, 'entry', 'entries')} of the controller's activity stream${last.stream.oldest === null ? '' : `, which reaches back to ${secondText(last.stream.oldest)}`}, read as ${last.as}${last.visibility.kind === 'all' ? '' : ', which can see only part'}. What this does not cover is listed below.`,
      ),
      `Responses: ${countText(runs.length, 'run')} in tokenctl's audit log, which records each change before it is made.`,
      evidence.intact
        ? `The chain of that log was read and is intact: ${countText(evidence.size, 'entry', 'entries')}.${evidence.checkpoint === null ? ' The log has no signing key, so there is no signed checkpoint.' : ' A signed checkpoint is below.'}`
        : `The chain of that log is broken: ${evidence.problem ?? 'unknown'}.`,
    ),
  );
}

function whatWasEnded(report: IncidentReport): Part {
  const { lockdown, cleaned: acts, undone } = report;
  const items = report.found?.items ?? [];
  const found = new Map(items.map((item) => [item.id, item]));
  return lines(
    list(
      `According to the outcomes in the audit log: ${endedCounts(report).join(', ')}.`,
      lockdown !== null && `Steps of the lockdown: ${stepsText(lockdown.steps)}.`,
      (['closed', 'open', 'not_checked'] as const).map((state) =>
        pathsText(lockdown?.accessPaths ?? [], state),
      ),
    ),
    withTitle(
      'Users, tokens and applications that these accounts created, according to the audit log:',
      madeAccess(report).map((each) => `${describedSummary(each.item)}: ${endText(each)}`),
    ).lines,
    withTitle(
      'Removed by the cleanup, according to the audit log:',
      acts.map(
        (each) => `${secondText(each.at)}: ${cleanedText(each, found.get(each.item))}: ${each.result}`,
      ),
    ).lines,
    withTitle(
      'Cleaned and undone again, according to the audit log:',
      undone.map(({ item, at }) => `${secondText(at)}: ${found.get(item)?.summary ?? item}`),
    ).lines,
    withTitle(
      "Removed, undone or changed back since these accounts' actions, according to the last investigation:",
      items
        .filter(isDealtWith)
        .map(
          (item) => `${item.summary}${report.found?.stolen.has(item.id) ? STOLEN : ''}: ${overText(item)}`,
        ),
    ).lines,
  );
}

/** By result: `passwords, roles (done); tokens (failed)`. */
function stepsText(steps: NonNullable<IncidentReport['lockdown']>['steps']): string {
  const byResult = Map.groupBy(steps, ({ result }) => result);
  return [...byResult]
    .map(
      ([result, some]) =>
        `${some.map(({ step }) => (step === 'snapshot' ? 'a file of the previous state' : step.replaceAll('_', ' '))).join(', ')} (${result.replaceAll('_', ' ')})`,
    )
    .join('; ');
}

/** The planned action of a cleaning on an item: `delete user mole (12)`. */
function cleanedText({ item, act }: IncidentReport['cleaned'][number], found: InvestigationItem | undefined) {
  if (found === undefined) return act === null ? item : `${act} ${item}`;
  const about = objectText(found.object);
  switch (act) {
    case 'disable':
      return `${found.object.kind === 'user' ? 'deactivate' : 'disable'} ${about}`;
    case 'delete':
    case 'restore':
    case 'cancel':
      return `${act} ${about}`;
    case 'disassociate':
      return `undo "${found.summary}"`;
    default:
      return found.summary;
  }
}

/** Whether an item that concerns access, running code or another change no longer exists. */
function isDealtWith(item: InvestigationItem): boolean {
  const isMeant = item.group === 'ways_in' || item.group === 'code_later' || item.act === 'changed';
  return isMeant && !isStillThere(item) && item.act !== 'removed' && item.act !== 'deleted';
}

function whatIsNotKnown(report: IncidentReport): Document {
  const { lockdown, incident, provenActs, began } = report;
  // If the report was told when the theft began, it is not a gap that an investigation was not.
  const lasts = (report.found?.lasts ?? []).map((each) =>
    began === null ? each : { ...each, limits: each.limits.filter(({ limit }) => limit !== 'honest_work') },
  );
  const { groups, unattributed, unattributedCount, ours } = unknownsOf(lasts, provenActs);
  const paths = lockdown?.accessPaths ?? [];
  const ways = [
    ...uncheckedPaths(paths).map(
      ({ path, until }) =>
        `Whether this access path was closed: ${nameText(path)}${until === null ? '' : ` (it ends by itself at ${untilText(until)})`}.`,
    ),
    ...paths
      .filter(({ covered }) => !covered)
      .map(
        ({ path }) =>
          `Left for manual action by the lockdown: ${nameText(path)}. The log does not say whether this was done.`,
      ),
  ];
  return [
    report.found === null && lines(notInvestigated(incident)),
    withTitle('Ways in:', ways),
    withTitle('Passwords that were not reset:', oldPasswords(report)),
    withTitle(
      `${countText(unattributedCount, 'entry', 'entries')} about access without an actor, which may be part of this:`,
      unattributed
        .slice(0, MAX_UNATTRIBUTED)
        .map(({ at, operation, object, owner }) =>
          `${secondText(at)}: ${operation} ${object.kind} ${object.name ?? object.id ?? ''}${owner == null ? '' : ` of ${owner}`}`.trim(),
        ),
    ),
    ...groups.map(({ title, texts }) => withTitle(`${title}:`, texts)),
    lines(ours),
  ];
}

function evidenceParts(
  { evidence, incident, investigations, runs }: IncidentReport,
  { log, version }: ReportPlace,
): Document {
  const { checkpoint, size, head } = evidence;
  const { snapshot } = incident;
  return [
    lines(
      list(
        `Audit log: ${log}, ${countText(size, 'entry', 'entries')}. SHA-256 of its last entry: ${head}`,
        snapshot !== null &&
          `Previous state, saved by the lockdown: ${snapshot.file}, SHA-256 ${snapshot.sha256} according to the audit log.`,
        investigations.map(
          ({ madeAt, as, target, since, until }) =>
            `Investigation at ${madeAt} by ${as} on ${target.address}${target.version === null ? '' : ` (version ${target.version})`}, of the period from ${since} to ${until}.`,
        ),
        investigations.length > 0 && 'Investigation files are not signed. The report repeats their contents.',
        runs
          .slice(0, MAX_ITEMS)
          .map(
            ({ run, operation, first, last }) => `Run ${run} (${operation}): entries ${first} to ${last}.`,
          ),
        `Written by tokenctl ${version}.`,
      ),
    ),
    ...(checkpoint === null
      ? [
          lines('To check the chain of the log:'),
          code('tokenctl log verify'),
          lines('To sign checkpoints of the log from now on, create a key with tokenctl log init.'),
        ]
      : [
          lines(
            `The checkpoint covers entries 1 to ${coveredBy(checkpoint)}. Save it as incident.checkpoint, in a place that users who can write to the log cannot access. It can later prove that nothing in these entries was changed or cut off:`,
          ),
          code(
            `tokenctl log verify --checkpoint incident.checkpoint ${checkpoint.verifiers.map((key) => `--key ${shellWord(key)}`).join(' ')}`,
          ),
          code(...checkpoint.note.trimEnd().split('\n')),
        ]),
  ];
}
