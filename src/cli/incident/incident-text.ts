import type { Runtime } from '../../app/runtime.ts';
import { dueIncidents } from '../../operations/incident/lift.ts';
import type { ManualStep } from '../../operations/incident/manual-steps.ts';
import type { StepReport } from '../../operations/incident/step.ts';
import type { AccessPath } from '../../operations/incident/verify-access-paths.ts';
import type { TargetDescription } from '../../operations/ports/target.ts';
import type { Amount } from '../../reports/tables/result.ts';
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
  not_checked: 'NOT CHECKED',
};

const PATHS: Readonly<Record<AccessPath['path'], string>> = {
  access_tokens: 'Access tokens',
  revoked_token: 'A revoked token',
  authorization_codes: 'Authorization codes',
  refresh_tokens: 'Refresh tokens',
  sessions: 'Sessions',
  basic_authentication: 'Basic authentication',
  external_tokens: 'External tokens',
  users: 'Users',
  passwords: 'Passwords',
  roles: 'Roles',
  applications: 'Applications',
};

/** The name of an access path. */
export function pathName(path: AccessPath['path']): string {
  return PATHS[path];
}

/** Steps as an amount: those that were done, now or before. */
export function stepAmount(steps: readonly StepReport[]): Amount {
  const done = steps.filter(({ result }) => result === 'done' || result === 'unchanged').length;
  return { what: 'step', planned: steps.length, done };
}

/** One line per step. */
export function stepLines(steps: readonly StepReport[]): string[] {
  return steps.map(({ result, message }) => `  ${MARKS[result].padEnd(10)} ${printable.value(message)}`);
}

/** The access paths and their states under a heading; empty without any. */
export function accessPathLines(paths: readonly AccessPath[]): string[] {
  if (paths.length === 0) return [];
  return [
    '',
    'Access paths:',
    ...paths.map(
      ({ path, state, how }) => `  ${STATES[state].padEnd(11)} ${PATHS[path]}: ${printable.value(how)}`,
    ),
  ];
}

/** Names of the access paths that were not checked, as a phrase; empty if all were. */
export function uncheckedText(paths: readonly Pick<AccessPath, 'path' | 'state'>[]): string {
  const unchecked = paths.filter(({ state }) => state === 'not_checked');
  return unchecked.map(({ path }) => pathName(path).toLowerCase()).join(', ');
}

/**
 * What to do about access paths that the same command, run again, would find as they are: those that the context cannot
 * check and users that it cannot deactivate.
 *
 * @param listedUnder The heading above what can be done instead.
 * @returns Undefined if running the same command again may close a path.
 */
export function hintForPaths(
  paths: readonly AccessPath[],
  options: {
    readonly description: Pick<TargetDescription, 'credential' | 'databaseContext'>;
    readonly staysActive?: boolean;
    readonly listedUnder: string;
  },
): string | undefined {
  const { description, staysActive = false, listedUnder } = options;
  const left = paths.filter(({ state }) => state !== 'closed');
  const isStuck = ({ path, state }: AccessPath) =>
    state === 'not_checked' || (path === 'users' && staysActive);
  if (left.length === 0 || !left.every(isStuck)) return undefined;
  if (description.credential !== 'database_role') {
    const { databaseContext } = description;
    const context = databaseContext === undefined ? 'a database context' : `--context ${databaseContext}`;
    return `Run the same command with ${context}, or do what is listed under "${listedUnder}".`;
  }
  const [until] = left.flatMap((each) => each.until ?? []);
  return until === undefined
    ? `Do what is listed under "${listedUnder}".`
    : `Run the same command again after ${nextMinute(until)}, or do what is listed under "${listedUnder}".`;
}

/** The first full minute that is not before an instant. */
function nextMinute(instant: string): string {
  const minute = 60_000;
  return `${new Date(Math.ceil(Date.parse(instant) / minute) * minute).toISOString().slice(0, 16)}Z`;
}

/** The manual actions under a heading; empty without any. */
export function manualStepLines(manualSteps: readonly ManualStep[]): string[] {
  if (manualSteps.length === 0) return [];
  return [
    '',
    'Needs manual action:',
    ...manualSteps.flatMap(({ what, why, remedy }) => [
      `  ${printable.value(what)}: ${why}`,
      `    ${remedy}`,
    ]),
  ];
}

/**
 * Prints a notice on stderr if incidents of the context are overdue. Changes nothing.
 *
 * @throws TokenctlError as `dueIncidents`.
 */
export async function tellOfDue(runtime: Runtime): Promise<void> {
  const description = await runtime.description();
  const log = await runtime.auditLog();
  const due = await dueIncidents({ description, log, clock: runtime.clock });
  if (due.length > 0) writeNotice(dueText(due, description));
}

/** The overdue incidents and the command that lifts them. */
export function dueText(ids: readonly string[], { context }: TargetDescription): string {
  return `Past the end time but not lifted: ${ids.join(', ')} (context ${context}). Run: tokenctl incident lift --due`;
}
