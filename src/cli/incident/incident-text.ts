import type { Runtime } from '../../app/runtime.ts';
import { type AccessPath, leftOpen, untilText } from '../../domain/access.ts';
import { dueIncidents } from '../../operations/incident/lift.ts';
import type { TargetDescription } from '../../operations/ports/target.ts';
import { writeNotice } from '../output/streams.ts';

/**
 * What to do about access paths that the same command, run again, would find as they are: those that the context cannot
 * check and users that it cannot deactivate.
 *
 * @returns Undefined if running the same command again may close a path.
 */
export function hintForPaths(
  paths: readonly AccessPath[],
  options: {
    readonly description: Pick<TargetDescription, 'credential' | 'databaseContext'>;
    readonly staysActive?: boolean;
  },
): string | undefined {
  const { description, staysActive = false } = options;
  const left = leftOpen(paths);
  const isStuck = ({ path, state }: AccessPath) =>
    state === 'not_checked' || (path === 'users' && staysActive);
  if (left.length === 0 || !left.every(isStuck)) return undefined;
  if (description.credential !== 'database_role') {
    const { databaseContext } = description;
    const context = databaseContext === undefined ? 'a database context' : `--context ${databaseContext}`;
    return `Run the same command with ${context}, or do what is listed under "Access paths".`;
  }
  const [until] = left.flatMap((each) => each.until ?? []);
  return until === undefined
    ? 'Do what is listed under "Access paths".'
    : `Run the same command again after ${untilText(until)}, or do what is listed under "Access paths".`;
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
