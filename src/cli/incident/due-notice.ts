import type { Runtime } from '../../app/runtime.ts';
import { dueIncidents } from '../../operations/incident/lift.ts';
import type { TargetDescription } from '../../operations/ports/target.ts';
import { writeNotice } from '../output/streams.ts';

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
