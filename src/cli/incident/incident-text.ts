import type { ByHand } from '../../operations/incident/manual-steps.ts';
import type { StepReport } from '../../operations/incident/step.ts';
import type { Door } from '../../operations/incident/verify-access-paths.ts';
import { printable } from '../../reports/printable.ts';

const MARKS: Readonly<Record<StepReport['result'], string>> = {
  done: 'done',
  unchanged: 'as before',
  partly: 'PARTLY',
  failed: 'FAILED',
  not_tried: 'NOT TRIED',
};

const STATES: Readonly<Record<Door['state'], string>> = {
  shut: 'shut',
  open: 'OPEN',
  not_tried: 'not tried',
};

const DOORS: Readonly<Record<Door['door'], string>> = {
  access_tokens: 'Access tokens',
  revoked_token: 'A revoked token',
  refresh_tokens: 'Refresh tokens',
  sessions: 'Sessions',
  basic_authentication: 'Basic authentication',
  external_tokens: 'External tokens',
  users: 'Users',
};

/** Steps that were taken, a line each. */
export function stepLines(steps: readonly StepReport[]): string[] {
  return steps.map(({ result, message }) => `  ${MARKS[result].padEnd(10)} ${printable.value(message)}`);
}

/** Doors and how each was found, a line each under a heading; nothing for none. */
export function doorLines(doors: readonly Door[]): string[] {
  if (doors.length === 0) return [];
  return [
    '',
    'Doors:',
    ...doors.map(
      ({ door, state, how }) => `  ${STATES[state].padEnd(10)} ${DOORS[door]}: ${printable.value(how)}`,
    ),
  ];
}

/** What is to be done by hand, under a heading; nothing for none. */
export function byHandLines(byHand: readonly ByHand[]): string[] {
  if (byHand.length === 0) return [];
  return [
    '',
    'Stays open, by hand:',
    ...byHand.flatMap(({ what, why, remedy }) => [`  ${printable.value(what)}: ${why}`, `    ${remedy}`]),
  ];
}
