import type { Runtime } from '../../app/runtime.ts';
import { type AccessPath, leftOpen, untilText } from '../../domain/access.ts';
import { shellWord } from '../../domain/remedies.ts';
import { type DueIncident, dueIncidents } from '../../operations/incident/plan-lift.ts';
import type { TargetDescription } from '../../operations/ports/target.ts';
import type { Line } from '../../reports/document.ts';
import { timeText } from '../../reports/tables/text.ts';
import { writeNotice } from '../output/streams.ts';

/**
 * What to do about access paths that the same command would find unchanged: those that the context cannot
 * check, and users that it cannot deactivate.
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
    return `Run the same command with ${context}, or follow the instructions under "Access paths".`;
  }
  const [until] = left.flatMap((each) => each.until ?? []);
  return until === undefined
    ? 'Follow the instructions under "Access paths".'
    : `Run the same command again after ${untilText(until)}, or follow the instructions under "Access paths".`;
}

/** Warns on stderr about due incidents in the audit log, one line per context. */
export async function tellOfDue(runtime: Runtime): Promise<void> {
  const description = await runtime.description();
  const log = await runtime.auditLog();
  const { here, elsewhere } = await dueIncidents({ description, log, clock: await runtime.targetClock() });
  const { context } = description;
  for (const line of dueTexts([...here.map((each) => ({ ...each, context })), ...elsewhere]))
    writeNotice(line);
}

/** The due incidents of each context, and the command that lifts them there. */
export function dueTexts(due: readonly Pick<DueIncident, 'id' | 'context'>[]): readonly string[] {
  return [...Map.groupBy(due, ({ context }) => context)].map(
    ([context, incidents]) =>
      `Past the end time but not lifted: ${incidents.map(({ id }) => id).join(', ')} (context ${context}). Run: ${liftDueCommand(context)}`,
  );
}

/** When a lockdown ends (null for never), and what lifts it: a configured job, or the command. */
export async function endText(
  { configuration }: Pick<Runtime, 'configuration'>,
  { context, until }: { context: string; until: Date | null },
): Promise<Extract<Line, { text: unknown }>> {
  if (until === null) return { text: 'The lockdown has no end time.' };
  const { endingJobOf } = await import('../../app/jobs/ending-job.ts');
  const job = endingJobOf(configuration, { kind: 'incident-lift', context, until });
  const commands = [liftDueCommand(context)];
  const ends = `Ends at ${timeText(until)} unless extended.`;
  const text =
    job === null
      ? 'No configured job lifts it. To lift it at that time:'
      : job.dryRun
        ? `The job ${job.name} is a dry run, so it does not lift the lockdown. To lift the lockdown at that time:`
        : `The job ${job.name} lifts it at ${timeText(job.at)} if a scheduler is running (tokenctl jobs start). Otherwise:`;
  return { text: `${ends} ${text}`, commands };
}

/** The command that restores the access that a lift left. */
export function giveBackCommand(incident: string, context: string): string {
  return `tokenctl incident lift ${incident} --no-keep-deactivated --context ${shellWord(context)}`;
}

export function liftDueCommand(context: string): string {
  return `tokenctl incident lift --due --context ${shellWord(context)}`;
}
