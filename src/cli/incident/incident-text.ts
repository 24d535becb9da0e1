import type { Runtime } from '../../app/runtime.ts';
import { dueIncidents } from '../../operations/incident/lift.ts';
import type { ManualStep } from '../../operations/incident/manual-steps.ts';
import type { StepReport } from '../../operations/incident/step.ts';
import type { AccessPath } from '../../operations/incident/verify-access-paths.ts';
import type { TargetDescription } from '../../operations/ports/target.ts';
import { printable } from '../../reports/tables/text.ts';
import { writeNotice } from '../output/streams.ts';

const MARKS: Readonly<Record<StepReport['result'], string>> = {
  done: 'done',
  unchanged: 'as before',
  partly: 'PARTLY',
  failed: 'FAILED',
  not_tried: 'NOT TRIED',
};

const STATES: Readonly<Record<AccessPath['state'], string>> = {
  closed: 'closed',
  open: 'OPEN',
  not_tried: 'not tried',
};

const PATHS: Readonly<Record<AccessPath['path'], string>> = {
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
export function accessPathLines(paths: readonly AccessPath[]): string[] {
  if (paths.length === 0) return [];
  return [
    '',
    'Access paths:',
    ...paths.map(
      ({ path, state, how }) => `  ${STATES[state].padEnd(10)} ${PATHS[path]}: ${printable.value(how)}`,
    ),
  ];
}

/** What is to be done by hand, under a heading; nothing for none. */
export function manualStepLines(manualSteps: readonly ManualStep[]): string[] {
  if (manualSteps.length === 0) return [];
  return [
    '',
    'Stays open, by hand:',
    ...manualSteps.flatMap(({ what, why, remedy }) => [
      `  ${printable.value(what)}: ${why}`,
      `    ${remedy}`,
    ]),
  ];
}

/**
 * Says on stderr where incidents of the context are over and not lifted: whoever runs the next command about
 * incidents is told, and decides. Nothing is changed.
 *
 * @throws TokenctlError as `dueIncidents`.
 */
export async function tellOfDue(runtime: Runtime): Promise<void> {
  const description = await runtime.description();
  const log = await runtime.auditLog();
  const due = await dueIncidents({ description, log, clock: runtime.clock });
  if (due.length > 0) writeNotice(dueText(due, description));
}

/** Which incidents are over, and the command that lifts them. */
export function dueText(ids: readonly string[], { context }: TargetDescription): string {
  return `Over, and not lifted: ${ids.join(', ')} (context ${context}). Lift with: tokenctl incident lift --due`;
}
