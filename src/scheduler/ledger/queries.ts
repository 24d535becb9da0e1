import type { Queryable } from '../../db/database.ts';
import type { RunState, TickKind } from '../../operations/ports/scheduler.ts';

/** A tick as it is stored. */
export interface TickRow {
  readonly job: string;
  readonly due: number;
  readonly kind: TickKind;
  readonly state: 'running' | 'waiting';
  readonly attempt: number;
  readonly failures: number;
  readonly losses: number;
  readonly run: string;
  readonly holder: string;
  readonly lease_left: number | null;
  readonly retry_at: number | null;
}

const OPEN = "state IN ('running', 'waiting')";

/** How many jobs a statement registers: each has two parameters, of which SQLite allows 32,766. */
const JOBS_PER_STATEMENT = 1000;

/** Registers jobs; if the schedule of one changed, its ticks count from now on. */
export async function upsertJobs(
  queryable: Queryable,
  jobs: readonly { readonly name: string; readonly schedule: string }[],
  now: number,
): Promise<void> {
  for (let from = 0; from < jobs.length; from += JOBS_PER_STATEMENT) {
    const some = jobs.slice(from, from + JOBS_PER_STATEMENT);
    const rows = some.map((_, index) => `($${2 * index + 2}, $${2 * index + 3}, CAST($1 AS bigint))`);
    await queryable.execute(
      `INSERT INTO tokenctl_scheduler.job AS known (name, schedule, since) VALUES ${rows.join(', ')}
       ON CONFLICT (name) DO UPDATE SET schedule = excluded.schedule, since = excluded.since
       WHERE known.schedule <> excluded.schedule`,
      [now, ...some.flatMap(({ name, schedule }) => [name, schedule])],
    );
  }
}

/**
 * Moves a job's start back to now if it lies in the future: the clock was wrong when the job was registered.
 */
export function correctSince(
  queryable: Queryable,
  { job, now }: { readonly job: string; readonly now: number },
): Promise<number> {
  return queryable.execute('UPDATE tokenctl_scheduler.job SET since = $2 WHERE name = $1 AND since > $2', [
    job,
    now,
  ]);
}

/** A job with its open tick, whose columns are null where it has none. */
export interface JobRow extends Partial<TickRow> {
  readonly name: string;
  /** The instant after which ticks count; null for a job that is not registered and was started by hand. */
  readonly position: number | null;
}

/** The position and the open tick of each of these jobs. */
export async function selectJobs(
  queryable: Queryable,
  { jobs, now, clock }: { readonly jobs: readonly string[]; readonly now: number; readonly clock: string },
): Promise<readonly JobRow[]> {
  const names = jobs.map((_, index) => `(CAST($${index + 2} AS text))`);
  const rows = await queryable.query<
    JobRow & { readonly since: number | null; readonly newest: number | null }
  >(
    `WITH asked (name) AS (VALUES ${names.join(', ')})
     SELECT asked.name, known.since, (SELECT max(due) FROM tokenctl_scheduler.tick
         WHERE tick.job = asked.name AND kind = 'schedule' AND due <= $1) AS newest,
       open.job, open.due, open.kind, open.state, open.attempt, open.failures, open.losses, open.run, open.holder,
       open.lease_until - ${clock} AS lease_left, open.retry_at
     FROM asked
     LEFT JOIN tokenctl_scheduler.job known ON known.name = asked.name
     LEFT JOIN tokenctl_scheduler.tick open ON open.job = asked.name AND open.${OPEN}`,
    [now, ...jobs],
  );
  return rows.map((row) => ({
    ...row,
    position: row.since === null ? null : Math.max(row.since, row.newest ?? 0),
  }));
}

/** A new tick and its first run. */
export type NewTick = Pick<TickRow, 'job' | 'due' | 'kind' | 'run' | 'holder'>;

/** Claims a new tick. False if the tick exists or the job has an open one. */
export async function insertTick(
  queryable: Queryable,
  tick: NewTick & { readonly lease: number; readonly clock: string },
): Promise<boolean> {
  const { job, due, kind, run, holder, lease, clock } = tick;
  const inserted = await queryable.execute(
    `INSERT INTO tokenctl_scheduler.tick (job, due, kind, state, attempt, run, holder, lease_until)
     VALUES ($1, $2, $3, 'running', 1, $4, $5, ${clock} + CAST($6 AS bigint)) ON CONFLICT DO NOTHING`,
    [job, due, kind, run, holder, lease],
  );
  return inserted === 1;
}

/** Stores a skipped tick. False if the tick exists. */
export async function insertSkipped(queryable: Queryable, tick: NewTick): Promise<boolean> {
  const { job, due, kind, run, holder } = tick;
  const inserted = await queryable.execute(
    `INSERT INTO tokenctl_scheduler.tick (job, due, kind, state, attempt, run, holder)
     VALUES ($1, $2, $3, 'skipped', 0, $4, $5) ON CONFLICT DO NOTHING`,
    [job, due, kind, run, holder],
  );
  return inserted === 1;
}

/** Claims the job's open tick again if its lease has expired or its retry is due. */
export async function retakeTick(
  queryable: Queryable,
  /** Also claims ticks whose retry is due by `due`. */
  retake: Omit<NewTick, 'kind'> & { readonly lease: number; readonly clock: string },
): Promise<TickRow | undefined> {
  const { job, run, holder, lease, due, clock } = retake;
  const [row] = await queryable.query<TickRow>(
    `UPDATE tokenctl_scheduler.tick SET attempt = attempt + 1,
       losses = losses + CASE WHEN state = 'running' THEN 1 ELSE 0 END,
       state = 'running', run = $2, holder = $3, lease_until = ${clock} + CAST($4 AS bigint), retry_at = NULL
     WHERE job = $1 AND ((state = 'running' AND lease_until <= ${clock})
       OR (state = 'waiting' AND retry_at <= CAST($5 AS bigint)))
     RETURNING job, due, kind, state, attempt, failures, losses, run, holder, NULL AS lease_left, retry_at`,
    [job, run, holder, lease, due],
  );
  return row;
}

/** Marks a tick as failed if its lease has expired and its run is still the given one. Returns whether it did. */
export async function endAbandonedTick(
  queryable: Queryable,
  { job, due, run, clock }: Pick<TickRow, 'job' | 'due' | 'run'> & { readonly clock: string },
): Promise<boolean> {
  const ended = await queryable.execute(
    `UPDATE tokenctl_scheduler.tick SET state = 'failed', lease_until = NULL
     WHERE job = $1 AND due = $2 AND run = $3 AND state = 'running' AND lease_until <= ${clock}`,
    [job, due, run],
  );
  return ended === 1;
}

/** Renews the lease of the newest claim. False if the claim is not the newest. */
export async function extendLease(
  queryable: Queryable,
  claim: Pick<TickRow, 'job' | 'due' | 'attempt'> & { readonly lease: number; readonly clock: string },
): Promise<boolean> {
  const extended = await queryable.execute(
    `UPDATE tokenctl_scheduler.tick SET lease_until = ${claim.clock} + CAST($4 AS bigint)
     WHERE job = $1 AND due = $2 AND attempt = $3 AND state = 'running'`,
    [claim.job, claim.due, claim.attempt, claim.lease],
  );
  return extended === 1;
}

/** Ends the tick of the newest claim, or schedules its retry. False if the claim is not the newest. */
export async function settleTick(
  queryable: Queryable,
  claim: Pick<TickRow, 'job' | 'due' | 'attempt'> & {
    readonly state: 'completed' | 'failed' | 'waiting';
    readonly failures: 0 | 1;
    readonly retryAt: number | null;
  },
): Promise<boolean> {
  const settled = await queryable.execute(
    `UPDATE tokenctl_scheduler.tick SET state = $4, failures = failures + CAST($5 AS integer),
       retry_at = CAST($6 AS bigint), lease_until = NULL
     WHERE job = $1 AND due = $2 AND attempt = $3 AND state = 'running'`,
    [claim.job, claim.due, claim.attempt, claim.state, claim.failures, claim.retryAt],
  );
  return settled === 1;
}

/** Deletes ended ticks that were due before an instant, except each job's newest, which marks its position. */
export function deleteTicks(queryable: Queryable, before: number): Promise<number> {
  return queryable.execute(
    `DELETE FROM tokenctl_scheduler.tick WHERE due < $1 AND NOT (${OPEN}) AND due < (
       SELECT max(later.due) FROM tokenctl_scheduler.tick AS later
       WHERE later.job = tick.job AND later.kind = 'schedule')`,
    [before],
  );
}

/** A run as it is stored. */
export interface RunRow extends Pick<TickRow, 'job' | 'due' | 'kind' | 'attempt' | 'holder'> {
  readonly id: string;
  readonly state: RunState;
  readonly began: number;
  readonly ended: number | null;
  readonly summary: string;
}

const RUN_COLUMNS = 'id, job, due, kind, attempt, holder, state, began, ended, summary';
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

/** Ends a running run. */
export function settleRun(
  queryable: Queryable,
  run: { readonly id: string; readonly state: RunState; readonly now: number; readonly summary: string },
): Promise<number> {
  return queryable.execute(
    `UPDATE tokenctl_scheduler.run SET state = $2, ended = $3, summary = $4 WHERE id = $1 AND state = 'running'`,
    [run.id, run.state, run.now, run.summary],
  );
}

/** Marks the earlier running runs of a tick as lost. */
export function markRunsLost(
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

/** Up to two runs whose id has this prefix: two mean that the prefix is ambiguous. */
export function selectRunsById(queryable: Queryable, beginning: string): Promise<RunRow[]> {
  return queryable.query<RunRow>(
    `SELECT ${RUN_COLUMNS} FROM tokenctl_scheduler.run WHERE substr(id, 1, CAST($2 AS integer)) = $1 LIMIT 2`,
    [beginning, beginning.length],
  );
}

/** The newest runs, optionally of one job or in some states. */
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
