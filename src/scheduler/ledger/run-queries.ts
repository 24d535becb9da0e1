import type { Queryable } from '../../db/database.ts';
import type { RunState, TickKind } from '../../operations/ports/scheduler.ts';

/** A run as it is stored. */
export interface RunRow {
  readonly id: string;
  readonly job: string;
  readonly due: number;
  readonly kind: TickKind;
  readonly attempt: number;
  readonly holder: string;
  readonly state: RunState;
  readonly began: number;
  readonly ended: number | null;
  readonly summary: string;
}

const RUN_COLUMNS = 'id, job, due, kind, attempt, holder, state, began, ended, summary';
/** Stores a run. */
export function insertRun(queryable: Queryable, run: RunRow): Promise<number> {
  return queryable.execute(
    `INSERT INTO tokenctl_scheduler.run (${RUN_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    [
      run.id,
      run.job,
      run.due,
      run.kind,
      run.attempt,
      run.holder,
      run.state,
      run.began,
      run.ended,
      run.summary,
    ],
  );
}

/** Ends a run that is running. */
export function settleRun(
  queryable: Queryable,
  run: { readonly id: string; readonly state: RunState; readonly now: number; readonly summary: string },
): Promise<number> {
  return queryable.execute(
    `UPDATE tokenctl_scheduler.run SET state = $2, ended = $3, summary = $4 WHERE id = $1 AND state = 'running'`,
    [run.id, run.state, run.now, run.summary],
  );
}

/** Marks the runs of a tick that were running before this attempt as lost. */
export function loseRuns(
  queryable: Queryable,
  tick: { readonly job: string; readonly due: number; readonly attempt: number; readonly now: number },
): Promise<number> {
  return queryable.execute(
    `UPDATE tokenctl_scheduler.run SET state = 'lost', ended = $4
     WHERE job = $1 AND due = $2 AND attempt < $3 AND state = 'running'`,
    [tick.job, tick.due, tick.attempt, tick.now],
  );
}

/** A run's state by its id. */
export async function selectRunState(queryable: Queryable, id: string): Promise<RunState | undefined> {
  const [row] = await queryable.query<{ state: RunState }>(
    'SELECT state FROM tokenctl_scheduler.run WHERE id = $1',
    [id],
  );
  return row?.state;
}

/** The runs whose id begins so: two at the most, which is enough to see that it is not one. */
export function selectRunsById(queryable: Queryable, beginning: string): Promise<RunRow[]> {
  return queryable.query<RunRow>(
    `SELECT ${RUN_COLUMNS} FROM tokenctl_scheduler.run WHERE substr(id, 1, CAST($2 AS integer)) = $1 LIMIT 2`,
    [beginning, beginning.length],
  );
}

/** The newest runs of a job, or of all, in these states, or in all. */
export function selectRuns(
  queryable: Queryable,
  wanted: { readonly job: string | null; readonly states: readonly RunState[]; readonly limit: number },
): Promise<RunRow[]> {
  return queryable.query<RunRow>(
    `SELECT ${RUN_COLUMNS} FROM tokenctl_scheduler.run
     WHERE (CAST($1 AS text) IS NULL OR job = $1) AND (CAST($2 AS text) = '' OR CAST($2 AS text) LIKE '%,' || state || ',%')
     ORDER BY began DESC, due DESC, attempt DESC LIMIT $3`,
    [wanted.job, wanted.states.length === 0 ? '' : `,${wanted.states.join(',')},`, wanted.limit],
  );
}

/** When a run of each job last completed. */
export function selectLastSuccesses(queryable: Queryable): Promise<{ job: string; at: number }[]> {
  return queryable.query(
    "SELECT job, max(ended) AS at FROM tokenctl_scheduler.run WHERE state = 'completed' GROUP BY job",
  );
}

/** Deletes runs that ended before an instant. */
export function deleteRuns(queryable: Queryable, before: number): Promise<number> {
  return queryable.execute(`DELETE FROM tokenctl_scheduler.run WHERE ended < $1`, [before]);
}
