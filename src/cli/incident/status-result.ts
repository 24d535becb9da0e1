import { setTimeout as sleep } from 'node:timers/promises';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import {
  untilText as instantText,
  pathName,
  pathNames,
  sentenceOf,
  uncheckedPaths,
} from '../../domain/access.ts';
import { shellWord } from '../../domain/remedies.ts';
import { unreadSessions } from '../../operations/access/cached-sessions.ts';
import type {
  ElsewhereIncident,
  HeldValue,
  IncidentStatus,
  Incidents,
} from '../../operations/incident/incident-status.ts';
import { valueText } from '../../operations/incident/plan-lift.ts';
import { machineClock } from '../../operations/ports/clock.ts';
import type { TargetDescription } from '../../operations/ports/target.ts';
import {
  bad,
  good,
  type Line,
  type Lines,
  lines,
  list,
  type Part,
  type Text,
  warning,
} from '../../reports/document.ts';
import { type Report, report } from '../../reports/result.ts';
import { countText, secondText, timeText } from '../../reports/tables/text.ts';
import { writeNotice } from '../output/streams.ts';
import { dueTexts, giveBackCommand, liftDueCommand } from './incident-text.ts';

/** The result of `incident status`; the JSON is `Incidents`. Due incidents are also reported on stderr. */
export function statusResult(
  found: Incidents,
  { description, check }: { description: TargetDescription; check: boolean },
): Report<Incidents> {
  const due = [
    ...found.incidents.map((each) =>
      each.address === description.address ? { ...each, context: description.context } : each,
    ),
    ...found.elsewhere,
  ].filter(({ isOverdue }) => isOverdue);
  for (const line of dueTexts(due)) writeNotice(line);
  return report({
    json: found,
    document: () => statusDocument(found, description),
    failure:
      (check ? problem(found) : undefined) ??
      (namesSessions(found) ? unreadSessions(description) : undefined),
  });
}

function namesSessions({ incidents }: Incidents): boolean {
  return incidents.some(({ accessPaths }) => accessPaths.some(({ path }) => path === 'sessions'));
}

/** For --wait: waits until an instant, and says so. */
export async function waitUntil(until: Date): Promise<void> {
  const left = until.getTime() - machineClock.now().getTime();
  if (left <= 0) return;
  writeNotice(`Waiting until ${instantText(until)} for requests from before the lockdown.`);
  await sleep(Math.min(left, MAX_WAIT_MS));
}

/** Limits the wait if the log was written by a clock ahead of this one. */
const MAX_WAIT_MS = 150_000;

function statusDocument({ incidents, left, elsewhere, stream }: Incidents, description: TargetDescription) {
  const { address, context } = description;
  return [
    lines(stream),
    lines(incidents.length === 0 && `No lockdown at ${address} (context ${context}).`),
    ...incidents.map((incident) =>
      incidentPart(incident.address === address ? { ...incident, context } : incident, address),
    ),
    leftPart(left, description),
    elsewherePart(elsewhere),
  ];
}

/** A summary of what lifts left: no other source says why these users are deactivated. */
function leftPart(left: readonly IncidentStatus[], { address, context }: TargetDescription): Part {
  return lines(
    left.length > 0 && [
      'Lifted, but some access was not restored:',
      ...left.map((each) =>
        list(
          `${each.id}: ${each.selection}, since ${secondText(each.lifted?.at ?? each.since)}`,
          stayLines(each.address === address ? { ...each, context } : each).map((line) => ({
            ...line,
            depth: 2,
          })),
        ),
      ),
    ],
  );
}

/** A state, in short, and with what to do. */
const STATES: Readonly<Record<IncidentStatus['state'], readonly [short: string, line: Line]>> = {
  unfinished: ['UNFINISHED', bad`UNFINISHED: interrupted, or still running. Run the same lockdown again.`],
  locked: ['locked down', 'locked down'],
  partly: ['PARTLY LOCKED DOWN', bad`PARTLY LOCKED DOWN: run the same lockdown again.`],
  lifting: ['partly lifted', 'partly lifted: run the lift again.'],
  lifted: ['lifted', 'lifted'],
};

function incidentPart(incident: IncidentStatus, here: string): Part {
  const { id, selection, state, since, by, reason, ticket, lifted, snapshot, values, address, context } =
    incident;
  const why = [reason, ticket].filter((each) => each !== null).join(', ');
  return lines(
    `${id}: ${selection}`,
    list(
      STATES[state][1],
      address !== here && `at another address of this controller: ${address} (context ${context})`,
      `since ${secondText(since)}, by ${who(by)}${why === '' ? '' : `: ${why}`}`,
      lifted === null ? untilText(incident) : `lifted ${secondText(lifted.at)}, by ${who(lifted.by)}`,
      snapshot !== null && `the previous state is saved in ${snapshot.file}`,
      incident.names,
      state === 'lifted' ? stayLines(incident) : [settingLines(values), userLines(values), roleLines(values)],
      tokenLines(incident),
      pathLines(incident),
      lifetimeText(incident),
      state !== 'lifted' && effectText(incident),
    ),
  );
}

function elsewherePart(elsewhere: readonly ElsewhereIncident[]): Part {
  const count = countText(elsewhere.length, 'more incident');
  const contexts = [...new Set(elsewhere.map(({ context }) => context))];
  const checks = contexts.map((context) => `tokenctl incident status --context ${shellWord(context)}`);
  return lines(
    elsewhere.length > 0 && [
      `${count} at ${elsewhere.length === 1 ? 'another address' : 'other addresses'}, as last recorded:`,
      ...list(...elsewhere.map(elsewhereLine), { text: 'To check them:', commands: checks }),
    ],
  );
}

function elsewhereLine({
  id,
  selection,
  state,
  since,
  address,
  context,
  until,
  isOverdue,
  stays,
}: ElsewhereIncident) {
  const [shown] = STATES[state];
  const over = isOverdue ? ', OVERDUE' : '';
  const end = until === null ? '' : `, until ${timeText(new Date(until))}${over}`;
  const left = stays.length === 0 ? '' : `, not restored: ${stays.map(({ name }) => name).join(', ')}`;
  return `${id}: ${selection}, at ${address} (context ${context}): ${shown}, since ${secondText(since)}${end}${left}`;
}

function who(by: Readonly<Record<string, string>>): string {
  return `${by['user'] ?? 'unknown'}${by['host'] === undefined ? '' : ` on ${by['host']}`}`;
}

function untilText({ until, isOverdue, context }: IncidentStatus): string {
  if (until === null) return 'no end time';
  const over = isOverdue ? `, OVERDUE: run ${liftDueCommand(context)}` : '';
  return `until ${timeText(new Date(until))}${over}`;
}

function settingLines(values: readonly HeldValue[]): string[] {
  return values
    .filter(({ what }) => what === 'setting')
    .map(({ name, before, locked, found, holds, incidents }) => {
      const state = holds ? valueText(locked) : `CHANGED to ${found === null ? 'nothing' : valueText(found)}`;
      const shared = incidents.length > 1 ? `, held by ${incidents.join(' and ')}` : '';
      return `${name}: ${state} (was ${valueText(before)}${shared})`;
    });
}

/** What a lift left, in its current state, and how to restore it. */
function stayLines({ id, stays, values, context }: IncidentStatus) {
  if (stays.length === 0) return [];
  const lineOf = ({ what, name, userId }: IncidentStatus['stays'][number]): Text => {
    const value = values.find((each) => each.what === what && each.name === name && each.userId === userId);
    const kept = what === 'user' ? 'deactivated' : 'taken';
    if (value === undefined)
      return `${name}: the lift left it ${kept} according to the audit log; the current state was not read`;
    if (value.found === null)
      return `${name}: the lift left it ${kept}; the user no longer exists, or is not listed here`;
    if (value.found === value.locked)
      return what === 'user' ? `${name} stays deactivated.` : `${name} stays taken.`;
    return what === 'user'
      ? bad`ACTIVE: ${name}, whom the lift left deactivated`.text
      : `ASSIGNED AGAIN: ${name}, which the lift did not restore`;
  };
  return [
    ...stays.map((each) => ({ text: lineOf(each) })),
    { text: 'To restore this access:', commands: [giveBackCommand(id, context)] },
  ];
}

function userLines(values: readonly HeldValue[]): Lines {
  const users = values.filter(({ what }) => what === 'user');
  const gone = users.filter(({ found }) => found === null);
  const back = users.filter(({ found }) => found === true);
  return [
    users.length > 0 && `${countText(users.length - gone.length - back.length, 'user')} deactivated`,
    back.length > 0 && bad`ACTIVE: ${namesOf(back)}`,
    gone.length > 0 && `Deleted: ${namesOf(gone)}`,
  ];
}

function roleLines(values: readonly HeldValue[]): Lines {
  const roles = values.filter(({ what }) => what === 'role');
  const back = roles.filter(({ found }) => found === true);
  const unseen = roles.filter(({ found }) => found === null);
  return [
    roles.length > 0 && `${countText(roles.length - back.length - unseen.length, 'role')} taken`,
    back.length > 0 && `HELD AGAIN: ${namesOf(back)}`,
    unseen.length > 0 && `Not listed here: ${namesOf(unseen)}`,
  ];
}

function namesOf(values: readonly HeldValue[]): string {
  return values.map(({ name }) => name).join(', ');
}

function tokenLines({ aliveCount, alive }: IncidentStatus): Lines {
  if (aliveCount === 0) return [];
  return [
    bad`${countText(aliveCount, 'TOKEN IS', 'TOKENS ARE')} STILL VALID, newest first:`,
    ...alive
      .toReversed()
      .map(({ id, user, created, isNew }) => ({
        text: `token ${id} of ${user ?? 'a deleted user'}, created ${timeText(created)}${isNew ? ', after the lockdown' : ''}`,
        depth: 2,
      })),
  ];
}

/** The access paths that are open or were not checked; values and tokens have separate lines. */
function pathLines({ accessPaths }: IncidentStatus): Lines {
  const own = new Set(['access_tokens', 'users', 'roles', 'token_lifetimes']);
  return accessPaths
    .filter(({ path, state }) => state === 'not_checked' || (state === 'open' && !own.has(path)))
    .map((each) => {
      const text = `${pathName(each.path)}: ${sentenceOf(each)}`;
      return each.state === 'open' ? bad`OPEN: ${text}` : warning`NOT CHECKED: ${text}`;
    });
}

/** Whether new tokens actually got the configured lifetime. */
function lifetimeText({ lifetimes }: IncidentStatus): Line | '' {
  if (lifetimes === null || lifetimes.issued === 0) return '';
  const { set, issued, longer } = lifetimes;
  return longer === 0
    ? `New access tokens: ${issued}, none valid longer than the configured ${set} s.`
    : bad`NEW ACCESS TOKENS LIVE LONGER THAN CONFIGURED: ${longer} of ${issued} (configured: ${set} s). Restart the controller's web services.`;
}

function effectText({ holds, notSeen, accessPaths }: IncidentStatus): Line {
  if (holds === null) return warning`NOT CHECKED: ${notSeen ?? 'not read'}.`;
  if (!holds) return bad`NOT IN EFFECT.`;
  const unchecked = pathNames(uncheckedPaths(accessPaths));
  if (unchecked === '') return good`In effect.`;
  return good`In effect as far as this context can check. Not checked: ${unchecked}.`;
}

/** Why --check fails: visible problems anywhere, otherwise what this context cannot check. */
function problem({ incidents, elsewhere }: Incidents): TokenctlError | undefined {
  const open = incidents.filter(({ state }) => state !== 'lifted');
  const wrong = [
    ...open.filter(({ holds, isOverdue, state }) => !holds || isOverdue || state !== 'locked'),
    ...elsewhere.filter(({ isOverdue }) => isOverdue),
  ];
  if (wrong.length > 0) {
    const ids = wrong.map(({ id }) => id).join(', ');
    return new TokenctlError(
      'findings',
      `${countText(wrong.length, 'incident needs', 'incidents need')} attention: ${ids}`,
    );
  }
  const unsure = open.filter(({ accessPaths }) => uncheckedPaths(accessPaths).length > 0);
  if (unsure.length === 0) return undefined;
  const paths = pathNames(uncheckedPaths(unsure.flatMap(({ accessPaths }) => accessPaths)));
  return new TokenctlError('partly_done', `Not checked: ${paths}`, {
    hint: 'Use a database context, which can check more, or wait until the times above.',
  });
}
