import { pathName } from '../domain/access.ts';
import { EVERY_TOKEN } from '../domain/selector.ts';
import { actorName, type LogReport, type LogTotals } from '../operations/audit-log/report-log.ts';
import { countNames, type RunAccount, type RunCounts } from '../operations/journal/run-account.ts';
import { type Fact, type Facts, facts, lines, type Part } from './document.ts';
import { countText, numberText, timeText } from './tables/text.ts';

/** The period of a report, when it was created, and the program version. */
export interface ReportFrame {
  readonly since: Date | undefined;
  readonly until: Date | undefined;
  readonly made: Date;
  readonly version: string;
  /** The path or database of the log. */
  readonly place: string;
}

/** The blocks of a report, streamed while the log is read. */
export async function* reportBlocks(report: LogReport, frame: ReportFrame): AsyncIterable<Part> {
  yield { kind: 'heading', level: 1, text: 'Token change report' };
  yield frameFacts(report, frame);
  yield { kind: 'heading', level: 2, text: 'Summary' };
  yield totalFacts(report.totals);
  yield { kind: 'heading', level: 2, text: 'Runs' };
  let runs = 0;
  for await (const account of report.runs()) {
    runs += 1;
    const { began, operation, target } = account;
    const where = target['context'] === undefined ? '' : ` at ${target['context']}`;
    yield { kind: 'heading', level: 3, text: `${toTheSecond(began)} ${operation}${where}` };
    yield runFacts(account);
  }
  if (runs === 0) yield lines('None.');
  const failure = report.failure();
  if (failure !== null) yield lines(`The rest of the audit log could not be read: ${failure.message}.`);
  yield lines(`Created by tokenctl ${frame.version}. Times are in UTC.`);
}

function frameFacts({ verification }: LogReport, { since, until, made, place }: ReportFrame): Part {
  const { entries, head, break: broken, removed, tornBytes } = verification;
  const intact = `each of ${countText(entries, 'entry', 'entries')} follows from the previous one; not compared with a checkpoint`;
  return facts([
    ['From', since === undefined ? 'the first entry' : timeText(since)],
    ['Until', until === undefined ? 'the last entry' : timeText(until)],
    ['Created', timeText(made)],
    ['Audit log', place],
    ['Verification', broken === null ? intact : `BROKEN at line ${broken.line}: ${broken.message}`],
    ['Removed by retention', removed !== undefined && `entries 1 to ${removed}`],
    ['Unfinished last line', tornBytes > 0 && countText(tornBytes, 'byte')],
    [broken === null ? 'Head' : 'Head before the break', `${head.hash} (${head.size})`],
  ]);
}

function totalFacts(totals: LogTotals): Part {
  const { entries, runs, operations, actors, counts, interrupted, unfinished } = totals;
  return facts([
    ['Entries', numberText(entries)],
    ['Runs', numberText(runs)],
    ...countFacts(counts),
    ['Operations', numbersOf(operations)],
    ['Initiated by', numbersOf(actors)],
    ['Interrupted runs', interrupted > 0 && numberText(interrupted)],
    ['Runs without an outcome', unfinished > 0 && numberText(unfinished)],
  ]);
}

const names: Readonly<Record<keyof RunCounts, string>> = {
  revoked: 'Access tokens revoked',
  refreshTokensRevoked: 'Refresh tokens revoked',
  deleted: 'Rows deleted',
  sessionsEnded: 'Sessions ended',
  created: 'Access tokens created',
  settingsChanged: 'Settings changed',
  usersChanged: 'Users activated or deactivated',
  unchanged: 'Unchanged',
  failed: 'Failed',
  notTried: 'Not tried',
};

function countFacts(counts: RunCounts): Fact[] {
  return countNames.filter((name) => counts[name] > 0).map((name) => [names[name], numberText(counts[name])]);
}

/**
 * A run as a sentence: who did what where, the result, the duration, and the ticket or the reason.
 * @param options.state False omits the result.
 * @param options.whole Includes the reason as well as the ticket.
 */
export function runSentence(account: RunAccount, { state = true, whole = false } = {}): string {
  const { actor, target, began, ended, ticket, reason } = account;
  const where = target['context'] === undefined ? '' : ` at ${target['context']}`;
  const seconds = (Date.parse(ended) - Date.parse(began)) / 1000;
  const { approvedBy, brokeGlass, operation } = account;
  const approval = operation === 'plan.approve' ? null : approvedBy;
  const ending = [
    ...(state && account.state !== 'noted' ? [shortStates[account.state]] : []),
    ...(account.state === 'noted' || account.state === 'refused' ? [] : [`${seconds.toFixed(1)} s`]),
    ...(approval === null ? [] : [`approved by ${approval}`]),
    ...(brokeGlass ? ['without approval (--break-glass)'] : []),
    ...(whole ? [ticket, reason] : [ticket ?? reason]).filter((text) => text !== null),
  ];
  return `${orderedBy(actor)} ${actText(account)}${where}${ending.length === 0 ? '' : `: ${ending.join(', ')}`}`;
}

/** The result of a run, in lists. */
export const shortStates: Readonly<Record<RunAccount['state'], string>> = {
  done: 'done',
  partly: 'partly done',
  refused: 'refused',
  interrupted: 'interrupted',
  unfinished: 'unfinished',
  noted: 'noted',
};

const states: typeof shortStates = {
  ...shortStates,
  refused: 'refused: nothing was changed',
  unfinished: 'unfinished: the log has no outcome',
};

function orderedBy({ user, sudo_user, job, signal_kind: signal }: RunAccount['actor']): string {
  if (signal !== undefined) return `signal ${signal}`;
  return job === undefined ? (sudo_user ?? user ?? 'unknown') : `job ${job}`;
}

/** The verb of an operation: for work that was done, and that was tried or begun. */
const VERBS: Readonly<Record<string, readonly [done: string, tried: string]>> = {
  'incident.lockdown': ['locked down', 'lock down'],
  'incident.clean': ['cleaned up after', 'clean up after'],
  'incident.clean-undo': ['undid the cleanup after', 'undo the cleanup after'],
  'incident.lift': ['lifted', 'lift'],
  'incident.extend': ['changed the end of', 'change the end of'],
  'users.offboard': ['offboarded', 'offboard'],
  'signals.nothing': ['found no access to end for', 'look for access of'],
  'applications.delete': ['deleted the application', 'delete the application'],
  'applications.rotate-secret': ['replaced the client secret of', 'replace the client secret of'],
  'tokens.rotate': ['rotated the token of', 'rotate the token of'],
  'tokens.migrate': ['migrated tokens:', 'migrate tokens:'],
  'tokens.cleanup': ['cleaned up', 'clean up'],
  'tokens.find': ['tested leaked values as tokens', 'test leaked values as tokens'],
  'tokens.notice': ['sent notices about expiring tokens', 'send notices about expiring tokens'],
  'tokens.notify-owners': ['emailed owners about', 'email owners about'],
  'log.rotate': ['rotated the audit log', 'rotate the audit log'],
  'log.prune': ['removed old files of the audit log', 'remove old files of the audit log'],
  'log.repair': ['repaired the audit log', 'repair the audit log'],
  'log.key': ['created an audit log key', 'create an audit log key'],
};

/** Operations whose verbs take the selection as object. */
const SELECTING: ReadonlySet<string> = new Set(['tokens.notify-owners', 'tokens.rotate', 'tokens.migrate']);

/** What a run did, from its counts. A run that did nothing, or did not end, tried or began it. */
function actText(account: RunAccount): string {
  const { operation, counts, selection, subject, changes, state } = account;
  if (operation === 'tokens.revoke') return revokedText(account);
  const said = NOTES[operation];
  if (said !== undefined) return said(selection ?? 'items', subject ?? 'an incident');
  if (operation === 'plan.approve') return `approved a plan for ${selection ?? 'a change'}`;
  const isKept = ({ before, after }: (typeof changes)[number]) =>
    after !== undefined && json(before) === json(after);
  const set = changes
    .filter((change) => !isKept(change))
    .map(({ name, before, after }) => `${name} from ${json(before)} to ${json(after)}`);
  const kept = changes.filter(isKept).map(({ name, after }) => `${name} at ${json(after)}`);
  const acts = [
    ...countActs(counts),
    ...(set.length === 0 ? [] : [`${state === 'refused' ? 'tried to set' : 'set'} ${set.join(' and ')}`]),
    ...(kept.length === 0 || state === 'refused' ? [] : [`kept ${kept.join(' and ')}`]),
  ].join(', ');
  const [done, tried] = VERBS[operation] ?? [];
  if (done === undefined || tried === undefined) return acts === '' ? `ran ${operation}` : acts;
  const about = SELECTING.has(operation) ? ` ${selection}` : '';
  const what = objectOf(account);
  const begun = { refused: 'tried to ', unfinished: 'began to ', interrupted: 'began to ' };
  const verb = state in begun ? begun[state as keyof typeof begun] + tried : done;
  return `${verb}${about}${what}${acts === '' ? '' : ` (${acts})`}`;
}

/** A person's statement about an incident. */
const NOTES: Readonly<Record<string, (what: string, incident: string) => string>> = {
  'leases.adopt': (what) => `added ${what} to a rotation`,
  'leases.sunset': (what) => `set an end date for ${what}`,
  'leases.release': (what) => `undid ${what}`,
  'leases.extend': (lease) => `changed the end of ${lease}`,
  'leases.end': (lease) => `noted that ${lease}`,
  'broker.refuse': (why) => `rejected an identity: ${why}`,
  'broker.stop': (rule) => `stopped the ${rule}`,
  'broker.resume': (rule) => `resumed the ${rule}`,
  'incident.step': (step, incident) => `marked ${step} as done for ${incident}`,
  'incident.step-undo': (step, incident) => `undid ${step} for ${incident}`,
  'incident.mark': (items, incident) => `marked ${items} as legitimate for ${incident}`,
  'incident.mark-undo': (items, incident) => `removed the mark from ${items} for ${incident}`,
  'incident.by-hand': (items, incident) => `reported ${items} as resolved manually for ${incident}`,
  'incident.by-hand-undo': (items, incident) =>
    `withdrew the report that ${items} was resolved manually for ${incident}`,
  'incident.hand-over': (items, incident) => `reassigned ${items} for ${incident}`,
  'incident.hand-over-undo': (items, incident) => `withdrew the reassignment of ${items} for ${incident}`,
};

/** The object of a verb, after a space. */
function objectOf({ operation, selection, subject }: RunAccount): string {
  if (subject === null) return operation.startsWith('incident.clean') ? ' an intruder' : '';
  return operation === 'incident.lockdown' && selection !== null
    ? ` ${selection} as ${subject}`
    : ` ${subject}`;
}

/** A selection such as `tokens of alice`: `revoked 4 tokens of alice`. */
function revokedText({ counts, selection }: RunAccount): string {
  const tokens = selection === null || selection === EVERY_TOKEN ? 'tokens' : selection;
  const beside = countActs({ ...counts, revoked: 0 });
  if (counts.revoked > 0) {
    const counted = counts.revoked === 1 ? tokens.replace(/^tokens\b/, 'token') : tokens;
    return [`revoked ${numberText(counts.revoked)} ${counted}`, ...beside].join(', ');
  }
  return beside.length > 0 ? `${beside.join(', ')} for ${tokens}` : `tried to revoke ${tokens}`;
}

function countActs(counts: RunCounts): string[] {
  const { revoked, refreshTokensRevoked, deleted, sessionsEnded, created, usersChanged } = counts;
  const acts: readonly (readonly [string, number, string])[] = [
    ['revoked', revoked, 'token'],
    ['revoked', refreshTokensRevoked, 'refresh token'],
    ['deleted', deleted, 'row'],
    ['ended', sessionsEnded, 'session'],
    ['created', created, 'token'],
    ['changed', usersChanged, 'user'],
  ];
  return acts
    .filter(([, count]) => count > 0)
    .map(([verb, count, what]) => `${verb} ${countText(count, what)}`);
}

export function runFacts(account: RunAccount): Facts {
  const { actor, target, reason, ticket, selection, began, ended, first, last, run } = account;
  const { state, counts, owners, moreOwners, changes, failures, accessPaths, stillAlive } = account;
  const { closedLater, open, approvedBy, brokeGlass } = account;
  const named = owners.map(({ user, tokens }) => `${user}: ${countText(tokens, 'token')}`);
  return facts([
    ['Result', states[state]],
    ['Initiated by', actorName(actor)],
    ['Approved by', brokeGlass ? 'no one: --break-glass' : approvedBy],
    ['Reason', reason],
    ['Ticket', ticket],
    ['Target', target['address']],
    ['Selection', selection],
    ...countFacts(counts),
    ['Owners', moreOwners === 0 ? named : [...named, `and ${countText(moreOwners, 'more owner')}`]],
    ['Changes', changes.map(({ name, before, after }) => `${name}: ${json(before)} → ${json(after)}`)],
    ['Failures', failures],
    ['Left open or not checked', accessPaths.map(leftText)],
    ['Still alive afterwards', stillAlive !== null && stillAlive > 0 && numberText(stillAlive)],
    ['Reconciled later', closedLater.map(laterText)],
    ['Open intents', open.map((seq) => `entry ${seq} has no outcome`)],
    ['Entries', `${first} to ${last}, ${toTheSecond(began)} to ${toTheSecond(ended)}`],
    ['Run', run],
  ]);
}

function laterText({ seq, at, actor, gone, alive }: RunAccount['closedLater'][number]): string {
  const found = [gone === null ? '' : `${gone} gone`, alive === null ? '' : `${alive} alive`].filter(Boolean);
  const what = found.length === 0 ? 'result unknown' : found.join(', ');
  return `entry ${seq}, at ${toTheSecond(at)} by ${actorName(actor)}: ${what}`;
}

function leftText({ path, count }: RunAccount['accessPaths'][number]): string {
  const name = pathName(path).toLowerCase();
  return count === null ? name : `${name}: ${numberText(count)}`;
}

function numbersOf(values: Readonly<Record<string, number>>): string[] {
  return Object.entries(values).map(([name, number]) => `${name}: ${numberText(number)}`);
}

function json(value: unknown): string {
  return JSON.stringify(value) ?? 'unknown';
}

function toTheSecond(at: string): string {
  return at.replace(/\.\d{3}Z$/, 'Z');
}
