import { TokenctlError } from '../../core/errors.ts';
import type { HeldValue, IncidentStatus } from '../../operations/incident/incident-status.ts';
import type { TargetDescription } from '../../operations/ports/target-description.ts';
import { countText } from '../output/counts.ts';
import { printable } from '../output/printable.ts';
import { type Report, report } from '../output/result.ts';
import { timeText } from '../output/times.ts';
import { valueText } from './lockdown-text.ts';

/** What is locked down, as a command's result: in JSON an array of `IncidentStatus`. */
export function statusResult(
  incidents: readonly IncidentStatus[],
  { description, check }: { readonly description: TargetDescription; readonly check: boolean },
): Report {
  return report({
    json: incidents,
    text: () => statusText(incidents, description),
    failure: check ? problem(incidents) : undefined,
  });
}

function statusText(incidents: readonly IncidentStatus[], { address, context }: TargetDescription): string {
  if (incidents.length === 0) return `Nothing is locked down at ${address} (context ${context}).\n`;
  return `${incidents.map((incident) => incidentLines(incident).join('\n')).join('\n\n')}\n`;
}

const STATES: Readonly<Record<IncidentStatus['state'], string>> = {
  unfinished: 'UNFINISHED: it was interrupted, or is under way. Run the same lockdown again.',
  locked: 'locked down',
  partly: 'LOCKED DOWN IN PART: run the same lockdown again.',
  lifting: 'being lifted: run incident lift again.',
  lifted: 'lifted',
};

function incidentLines(incident: IncidentStatus): string[] {
  const { id, selection, state, since, by, reason, ticket, lifted, snapshot, values } = incident;
  const why = [reason, ticket].filter((each) => each !== null).join(', ');
  return [
    `${id}: ${printable.value(selection)}`,
    `  ${STATES[state]}`,
    `  since ${since}, by ${who(by)}${why === '' ? '' : `: ${printable.value(why)}`}`,
    ...(lifted === null ? [untilText(incident)] : [`  lifted ${lifted.at}, by ${who(lifted.by)}`]),
    ...(snapshot === null ? [] : [`  snapshot ${printable.value(snapshot.file)}`]),
    ...settingLines(values),
    ...userLines(values),
    ...tokenLines(incident),
    ...(state === 'lifted' ? [] : [incident.holds ? '  It holds.' : '  IT DOES NOT HOLD.']),
  ];
}

function who(by: Readonly<Record<string, string>>): string {
  return printable.value(`${by['user'] ?? 'unknown'}${by['host'] === undefined ? '' : ` on ${by['host']}`}`);
}

function untilText({ until, isOverdue }: IncidentStatus): string {
  if (until === null) return '  until it is lifted';
  const over = isOverdue ? ', WHICH IS OVER: tokenctl incident lift --due' : '';
  return `  until ${timeText(new Date(until))}${over}`;
}

function settingLines(values: readonly HeldValue[]): string[] {
  return values
    .filter(({ what }) => what === 'setting')
    .map(({ name, before, locked, found, holds, incidents }) => {
      const state = holds ? valueText(locked) : `CHANGED to ${found === null ? 'nothing' : valueText(found)}`;
      const shared = incidents.length > 1 ? `, held by ${incidents.join(' and ')}` : '';
      return `  ${name}: ${state} (${valueText(before)} before${shared})`;
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
    ...(gone.length > 0 ? [`  Gone: ${names(gone)}`] : []),
  ];
}

function tokenLines({ aliveCount, alive }: IncidentStatus): string[] {
  if (aliveCount === 0) return [];
  return [
    `  ${countText(aliveCount, 'TOKEN IS', 'TOKENS ARE')} ALIVE, the newest:`,
    ...alive.map(
      ({ id, user, created, isNew }) =>
        `    ${id} of ${printable.value(user ?? 'nobody')}, made ${timeText(created)}${isNew ? ', after the lockdown' : ''}`,
    ),
  ];
}

function problem(incidents: readonly IncidentStatus[]): TokenctlError | undefined {
  const open = incidents.filter(({ state }) => state !== 'lifted');
  const wrong = open.filter(({ holds, isOverdue, state }) => !holds || isOverdue || state !== 'locked');
  if (wrong.length === 0) return undefined;
  return new TokenctlError(
    'findings',
    `${countText(wrong.length, 'incident does', 'incidents do')} not hold, or should be lifted: ${wrong.map(({ id }) => id).join(', ')}`,
  );
}
