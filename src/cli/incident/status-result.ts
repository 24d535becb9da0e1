import { TokenctlError } from '../../domain/errors.ts';
import { shellWord } from '../../domain/remedies.ts';
import type {
  ElsewhereIncident,
  HeldValue,
  IncidentStatus,
  Incidents,
} from '../../operations/incident/incident-status.ts';
import type { TargetDescription } from '../../operations/ports/target.ts';
import { type Report, report } from '../../reports/tables/result.ts';
import { countText, printable, timeText } from '../../reports/tables/text.ts';
import { writeNotice } from '../output/streams.ts';
import { dueText, pathName } from './incident-text.ts';
import { valueText } from './lockdown-flow.ts';

/** The result of `incident status`; the JSON is `Incidents`. Overdue incidents are also reported on stderr. */
export function statusResult(
  found: Incidents,
  { description, check }: { readonly description: TargetDescription; readonly check: boolean },
): Report<Incidents> {
  const due = found.incidents
    .filter(({ isOverdue, address }) => isOverdue && address === description.address)
    .map(({ id }) => id);
  if (due.length > 0) writeNotice(dueText(due, description));
  return report({
    json: found,
    text: () => statusText(found, description),
    failure: check ? problem(found.incidents) : undefined,
  });
}

function statusText({ incidents, elsewhere }: Incidents, { address, context }: TargetDescription): string {
  const here =
    incidents.length === 0
      ? [`No lockdown at ${address} (context ${context}).`]
      : [incidents.map((incident) => incidentLines(incident, address).join('\n')).join('\n\n')];
  return `${[...here, ...elsewhereLines(elsewhere)].join('\n')}\n`;
}

const STATES: Readonly<Record<IncidentStatus['state'], string>> = {
  unfinished: 'UNFINISHED: interrupted, or still running. Run the same lockdown again.',
  locked: 'locked down',
  partly: 'PARTLY LOCKED DOWN: run the same lockdown again.',
  lifting: 'partly lifted: run incident lift again.',
  lifted: 'lifted',
};

function incidentLines(incident: IncidentStatus, here: string): string[] {
  const { id, selection, state, since, by, reason, ticket, lifted, snapshot, values } = incident;
  const why = [reason, ticket].filter((each) => each !== null).join(', ');
  return [
    `${id}: ${printable.value(selection)}`,
    `  ${STATES[state]}`,
    ...(incident.address === here
      ? []
      : [
          `  at another address of this controller: ${printable.value(incident.address)} (context ${printable.value(incident.context)})`,
        ]),
    `  since ${since}, by ${who(by)}${why === '' ? '' : `: ${printable.value(why)}`}`,
    ...(lifted === null ? [untilText(incident)] : [`  lifted ${lifted.at}, by ${who(lifted.by)}`]),
    ...(snapshot === null ? [] : [`  snapshot ${printable.value(snapshot.file)}`]),
    ...settingLines(values),
    ...userLines(values),
    ...roleLines(values),
    ...tokenLines(incident),
    ...openPathLines(incident),
    ...lifetimeLines(incident),
    ...(state === 'lifted' ? [] : [effectLine(incident)]),
    ...codesLines(incident),
  ];
}

function effectLine(incident: IncidentStatus): string {
  const { holds, notSeen } = incident;
  if (holds === null) return `  NOT CHECKED: ${printable.value(notSeen ?? 'not read')}.`;
  return holds ? effectText(incident) : '  NOT IN EFFECT.';
}

/** Incidents at other addresses. */
function elsewhereLines(elsewhere: readonly ElsewhereIncident[]): string[] {
  if (elsewhere.length === 0) return [];
  const count = countText(elsewhere.length, 'more incident');
  const contexts = [...new Set(elsewhere.map(({ context }) => context))];
  return [
    '',
    `${count} at ${elsewhere.length === 1 ? 'another address' : 'other addresses'}, as last recorded:`,
    ...elsewhere.map(elsewhereLine),
    `  To check them: ${contexts.map((context) => `tokenctl incident status --context ${shellWord(context)}`).join(', ')}`,
  ];
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
}: ElsewhereIncident) {
  const [shown = state] = STATES[state].split(':');
  const over = isOverdue ? ', OVERDUE' : '';
  const end = until === null ? '' : `, until ${timeText(new Date(until))}${over}`;
  const where = `${printable.value(address)} (context ${printable.value(context)})`;
  return `  ${id}: ${printable.value(selection)}, at ${where}: ${shown}, since ${since}${end}`;
}

function who(by: Readonly<Record<string, string>>): string {
  return printable.value(`${by['user'] ?? 'unknown'}${by['host'] === undefined ? '' : ` on ${by['host']}`}`);
}

function untilText({ until, isOverdue }: IncidentStatus): string {
  if (until === null) return '  no end time';
  const over = isOverdue ? ', OVERDUE: run tokenctl incident lift --due' : '';
  return `  until ${timeText(new Date(until))}${over}`;
}

function settingLines(values: readonly HeldValue[]): string[] {
  return values
    .filter(({ what }) => what === 'setting')
    .map(({ name, before, locked, found, holds, incidents }) => {
      const state = holds ? valueText(locked) : `CHANGED to ${found === null ? 'nothing' : valueText(found)}`;
      const shared = incidents.length > 1 ? `, held by ${incidents.join(' and ')}` : '';
      return `  ${name}: ${state} (was ${valueText(before)}${shared})`;
    });
}

function userLines(values: readonly HeldValue[]): string[] {
  const users = values.filter(({ what }) => what === 'user');
  if (users.length === 0) return [];
  const gone = users.filter(({ found }) => found === null);
  const back = users.filter(({ found }) => found === true);
  const names = (some: readonly HeldValue[]) => some.map(({ name }) => printable.value(name)).join(', ');
  return [
    `  ${countText(users.length - gone.length - back.length, 'user')} deactivated`,
    ...(back.length > 0 ? [`  ACTIVE: ${names(back)}`] : []),
    ...(gone.length > 0 ? [`  Deleted: ${names(gone)}`] : []),
  ];
}

function roleLines(values: readonly HeldValue[]): string[] {
  const roles = values.filter(({ what }) => what === 'role');
  if (roles.length === 0) return [];
  const back = roles.filter(({ found }) => found === true);
  const unseen = roles.filter(({ found }) => found === null);
  return [
    `  ${countText(roles.length - back.length - unseen.length, 'role')} taken`,
    ...(back.length > 0 ? [`  HELD AGAIN: ${back.map(({ name }) => printable.value(name)).join(', ')}`] : []),
    ...(unseen.length > 0
      ? [`  Not listed here: ${unseen.map(({ name }) => printable.value(name)).join(', ')}`]
      : []),
  ];
}

function tokenLines({ aliveCount, alive }: IncidentStatus): string[] {
  if (aliveCount === 0) return [];
  return [
    `  ${countText(aliveCount, 'TOKEN IS', 'TOKENS ARE')} STILL VALID, newest first:`,
    ...alive
      .toReversed()
      .map(
        ({ id, user, created, isNew }) =>
          `    ${id} of ${printable.value(user ?? 'a deleted user')}, created ${timeText(created)}${isNew ? ', after the lockdown' : ''}`,
      ),
  ];
}

function openPathLines({ openPaths }: IncidentStatus): string[] {
  return openPaths.map(({ path, how }) => `  OPEN: ${pathName(path)}: ${printable.value(how)}`);
}

/** Whether new tokens really got the lifetime that was set. */
function lifetimeLines({ lifetimes }: IncidentStatus): string[] {
  if (lifetimes === null || lifetimes.issued === 0) return [];
  const { set, issued, longer } = lifetimes;
  if (longer === 0)
    return [`  New access tokens: ${issued}, none valid for longer than the ${set} s that were set.`];
  return [
    `  NEW ACCESS TOKENS LIVE LONGER THAN SET: ${longer} of ${issued} (set: ${set} s). Restart the web services of the controller.`,
  ];
}

function effectText({ notChecked }: IncidentStatus): string {
  if (notChecked.length === 0) return '  In effect.';
  return `  In effect as far as this context can check. Not checked: ${notChecked.map((path) => pathName(path).toLowerCase()).join(', ')}.`;
}

function codesLines({ notChecked, codesUntil }: IncidentStatus): string[] {
  if (!notChecked.includes('authorization_codes') || codesUntil === null) return [];
  return [
    `  An authorization code from before the lockdown can be exchanged for tokens until ${codesUntil}. Run incident status again then.`,
  ];
}

function problem(incidents: readonly IncidentStatus[]): TokenctlError | undefined {
  const open = incidents.filter(({ state }) => state !== 'lifted');
  const wrong = open.filter(({ holds, isOverdue, state }) => !holds || isOverdue || state !== 'locked');
  if (wrong.length === 0) return undefined;
  return new TokenctlError(
    'findings',
    `${countText(wrong.length, 'incident needs', 'incidents need')} attention: ${wrong.map(({ id }) => id).join(', ')}`,
  );
}
