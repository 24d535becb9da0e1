import type { Runtime } from '../app/runtime.ts';
import { listRuns } from '../operations/audit-log/list-log.ts';
import { objectsIn } from '../operations/journal/journal.ts';
import type { RunAccount } from '../operations/journal/run-account.ts';
import type { Report } from '../reports/result.ts';

const WORST_FIRST = ['unfinished', 'interrupted', 'refused', 'partly', 'done', 'noted'] as const;

/** The result of a change, in the terms of the audit log; `not_read` if its record could not be read. */
export type ChangeOutcome = RunAccount['state'] | 'not_read';

/**
 * The result of a change from its own record: unlike the report of a completed step, the log counts access
 * paths that were left open or not checked. The worst of its runs counts; without a run, the report says
 * whether anything is left.
 */
export async function outcomeOf(
  runtime: Pick<Runtime, 'auditLog'>,
  { json, failure }: Pick<Report, 'json' | 'failure'>,
): Promise<ChangeOutcome> {
  const states: ChangeOutcome[] = [failure === undefined ? 'done' : 'partly'];
  try {
    const log = await runtime.auditLog();
    for (const run of runsIn(json)) {
      for await (const account of listRuns({ log, run, last: 1 })) states.push(account.state);
    }
  } catch {
    return 'not_read';
  }
  return WORST_FIRST.find((each) => states.includes(each)) ?? 'not_read';
}

/** The runs that a report names: its own, or one of each of several. */
function runsIn(json: unknown): readonly string[] {
  const reports = (json as { readonly reports?: unknown } | null)?.reports;
  return [...objectsIn([json]), ...objectsIn(reports)].flatMap(({ run }) =>
    typeof run === 'string' ? [run] : [],
  );
}
