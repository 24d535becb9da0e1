import type { Queryable } from '../../db/database.ts';
import { joined, type Sql, sql } from '../../db/sql.ts';
import type { RunState, TickKind } from '../../operations/ports/scheduler.ts';

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

const OPEN = sql`state IN ('running', 'waiting')`;

/** How many jobs a statement registers: each has three parameters, of which SQLite allows 32,766. */
const JOBS_PER_STATEMENT = 1000;

/** Registers jobs; if the schedule of one changed, its ticks count from now on. */
export async function upsertJobs(
  queryable: Queryable,
  jobs: readonly { readonly name: string; readonly schedule: string }[],
  now: number,
): Promise<void> {
  for (let from = 0; from < jobs.length; from += JOBS_PER_STATEMENT) {
    const some = jobs.slice(from, from + JOBS_PER_STATEMENT);
    const rows = some.map(({ name, schedule }) => sql`(${name}, ${schedule}, CAST(${now} AS bigint))`);
    await sql`INSERT INTO tokenctl_scheduler.job AS known (name, schedule, since) VALUES ${joined(rows)}
      ON CONFLICT (name) DO UPDATE SET schedule = excluded.schedule, since = excluded.since
      WHERE known.schedule <> excluded.schedule`.execute(queryable);
  }
}

/**
 * Moves a job's start back to now if it lies in the future: the clock was wrong when the job was registered.
 */
export function correctSince(
  queryable: Queryable,
  { job, now }: { readonly job: string; readonly now: number },
): Promise<number> {
  return sql`UPDATE tokenctl_scheduler.job SET since = ${now}
    WHERE name = ${job} AND since > ${now}`.execute(queryable);
}

/** A job with its open tick, whose columns are null where it has none. */
export interface JobRow extends Partial<TickRow> {
  readonly name: string;
  /** The instant after which ticks count; null for a job that is not registered and was started by hand. */
  readonly position: number | null;
}

interface PositionRow {
  readonly since: number | null;
  readonly newest: number | null;
}

/** The position and the open tick of each of these jobs. */
export async function selectJobs(
  queryable: Queryable,
  { jobs, now, clock }: { readonly jobs: readonly string[]; readonly now: number; readonly clock: Sql },
): Promise<readonly JobRow[]> {
  const names = jobs.map((job) => sql`(CAST(${job} AS text))`);
  const rows = await sql`WITH asked (name) AS (VALUES ${joined(names)})
    SELECT asked.name, known.since, (SELECT max(due) FROM tokenctl_scheduler.tick
        WHERE tick.job = asked.name AND kind = 'schedule' AND due <= ${now}) AS newest,
      open.job, open.due, open.kind, open.state, open.attempt, open.failures, open.losses, open.run,
      open.holder, open.lease_until - ${clock} AS lease_left, open.retry_at
    FROM asked
    LEFT JOIN tokenctl_scheduler.job known ON known.name = asked.name
    LEFT JOIN tokenctl_scheduler.tick open
      ON open.job = asked.name AND open.${OPEN}`.rows<JobRow & PositionRow>(queryable);
  return rows.map((row) => ({
    ...row,
    position: row.since === null ? null : Math.max(row.since, row.newest ?? 0),
  }));
}

/** A new tick and its first run. */
export type NewTick = Pick<TickRow, 'job' | 'due' | 'kind' | 'run' | 'holder'>;

/** Claims a new tick. False if the tick exists or the job has an open one. */
export function insertTick(
  queryable: Queryable,
  tick: NewTick & { readonly lease: number; readonly clock: Sql },
): Promise<boolean> {
  const { job, due, kind, run, holder, lease, clock } = tick;
  return sql`INSERT INTO tokenctl_scheduler.tick
      (job, due, kind, state, attempt, run, holder, lease_until)
    VALUES (${job}, ${due}, ${kind}, 'running', 1, ${run}, ${holder}, ${clock} + CAST(${lease} AS bigint))
    ON CONFLICT DO NOTHING`.touchesOne(queryable);
}

/** Stores a skipped tick. False if the tick exists. */
export function insertSkipped(queryable: Queryable, tick: NewTick): Promise<boolean> {
  const { job, due, kind, run, holder } = tick;
  return sql`INSERT INTO tokenctl_scheduler.tick (job, due, kind, state, attempt, run, holder)
    VALUES (${job}, ${due}, ${kind}, 'skipped', 0, ${run}, ${holder})
    ON CONFLICT DO NOTHING`.touchesOne(queryable);
}

/** Claims the job's open tick again if its lease has expired or its retry is due. */
export async function retakeTick(
  queryable: Queryable,
  /** Also claims ticks whose retry is due by `due`. */
  retake: Omit<NewTick, 'kind'> & { readonly lease: number; readonly clock: Sql },
): Promise<TickRow | undefined> {
  const { job, run, holder, lease, due, clock } = retake;
  const [row] = await sql`UPDATE tokenctl_scheduler.tick SET attempt = attempt + 1,
      losses = losses + CASE WHEN state = 'running' THEN 1 ELSE 0 END,
      state = 'running', run = ${run}, holder = ${holder}, lease_until = ${clock} + CAST(${lease} AS bigint),
      retry_at = NULL
    WHERE job = ${job} AND ((state = 'running' AND lease_until <= ${clock})
      OR (state = 'waiting' AND retry_at <= CAST(${due} AS bigint)))
    RETURNING job, due, kind, state, attempt, failures, losses, run, holder, NULL AS lease_left,
    retry_at`.rows<TickRow>(queryable);
  return row;
}

/** Marks a tick as failed if its lease has expired and its run is still the given one. Returns whether it did. */
export function endAbandonedTick(
  queryable: Queryable,
  { job, due, run, clock }: Pick<TickRow, 'job' | 'due' | 'run'> & { readonly clock: Sql },
): Promise<boolean> {
  return sql`UPDATE tokenctl_scheduler.tick SET state = 'failed', lease_until = NULL
    WHERE job = ${job} AND due = ${due} AND run = ${run} AND state = 'running'
    AND lease_until <= ${clock}`.touchesOne(queryable);
}

/** Renews the lease of the newest claim. False if the claim is not the newest. */
export function extendLease(
  queryable: Queryable,
  claim: Pick<TickRow, 'job' | 'due' | 'attempt'> & { readonly lease: number; readonly clock: Sql },
): Promise<boolean> {
  return sql`UPDATE tokenctl_scheduler.tick
    SET lease_until = ${claim.clock} + CAST(${claim.lease} AS bigint)
    WHERE job = ${claim.job} AND due = ${claim.due} AND attempt = ${claim.attempt}
    AND state = 'running'`.touchesOne(queryable);
}

/** Ends the tick of the newest claim, or schedules its retry. False if the claim is not the newest. */
export function settleTick(
  queryable: Queryable,
  claim: Pick<TickRow, 'job' | 'due' | 'attempt'> & {
    readonly state: 'completed' | 'failed' | 'waiting';
    readonly failures: 0 | 1;
    readonly retryAt: number | null;
  },
): Promise<boolean> {
  return sql`UPDATE tokenctl_scheduler.tick
    SET state = ${claim.state}, failures = failures + CAST(${claim.failures} AS integer),
      retry_at = CAST(${claim.retryAt} AS bigint), lease_until = NULL
    WHERE job = ${claim.job} AND due = ${claim.due} AND attempt = ${claim.attempt}
    AND state = 'running'`.touchesOne(queryable);
}

/** Deletes ended ticks that were due before an instant, except each job's newest, which marks its position. */
export function deleteTicks(queryable: Queryable, before: number): Promise<number> {
  return sql`DELETE FROM tokenctl_scheduler.tick WHERE due < ${before} AND NOT (${OPEN}) AND due < (
       SELECT max(later.due) FROM tokenctl_scheduler.tick AS later
       WHERE later.job = tick.job AND later.kind = 'schedule')`.execute(queryable);
}

export interface RunRow extends Pick<TickRow, 'job' | 'due' | 'kind' | 'attempt' | 'holder'> {
  readonly id: string;
  readonly state: RunState;
  readonly began: number;
  readonly ended: number | null;
  readonly summary: string;
}

const RUN_COLUMNS = sql`id, job, due, kind, attempt, holder, state, began, ended, summary`;

export function insertRun(queryable: Queryable, run: RunRow): Promise<number> {
  return sql`INSERT INTO tokenctl_scheduler.run (${RUN_COLUMNS})
    VALUES (${run.id}, ${run.job}, ${run.due}, ${run.kind}, ${run.attempt}, ${run.holder}, ${run.state},
    ${run.began}, ${run.ended}, ${run.summary})`.execute(queryable);
}

/** Ends a running run. */
export function settleRun(
  queryable: Queryable,
  run: { readonly id: string; readonly state: RunState; readonly now: number; readonly summary: string },
): Promise<number> {
  return sql`UPDATE tokenctl_scheduler.run SET state = ${run.state}, ended = ${run.now},
    summary = ${run.summary} WHERE id = ${run.id} AND state = 'running'`.execute(queryable);
}

/** Marks the earlier running runs of a tick as lost. */
export function markRunsLost(
  queryable: Queryable,
  tick: { readonly job: string; readonly due: number; readonly attempt: number; readonly now: number },
): Promise<number> {
  return sql`UPDATE tokenctl_scheduler.run SET state = 'lost', ended = ${tick.now}
    WHERE job = ${tick.job} AND due = ${tick.due} AND attempt < ${tick.attempt}
    AND state = 'running'`.execute(queryable);
}

export async function selectRunState(queryable: Queryable, id: string): Promise<RunState | undefined> {
  const [row] = await sql`SELECT state FROM tokenctl_scheduler.run
    WHERE id = ${id}`.rows<{ state: RunState }>(queryable);
  return row?.state;
}

/** Up to two runs whose id has this prefix: two mean that the prefix is ambiguous. */
export function selectRunsById(queryable: Queryable, beginning: string): Promise<RunRow[]> {
  return sql`SELECT ${RUN_COLUMNS} FROM tokenctl_scheduler.run
    WHERE substr(id, 1, CAST(${beginning.length} AS integer)) = ${beginning} LIMIT 2`.rows<RunRow>(queryable);
}

/** The newest runs, optionally of one job or in some states. */
export function selectRuns(
  queryable: Queryable,
  wanted: { readonly job: string | null; readonly states: readonly RunState[]; readonly limit: number },
): Promise<RunRow[]> {
  const { job, states, limit } = wanted;
  const ofStates =
    states.length === 0 ? sql`` : sql`AND state IN (${joined(states.map((state) => sql`${state}`))})`;
  return sql`SELECT ${RUN_COLUMNS} FROM tokenctl_scheduler.run
    WHERE (CAST(${job} AS text) IS NULL OR job = ${job}) ${ofStates}
    ORDER BY began DESC, due DESC, attempt DESC LIMIT ${limit}`.rows<RunRow>(queryable);
}

/** When a run of each job last completed. */
export function selectLastSuccesses(queryable: Queryable): Promise<{ job: string; at: number }[]> {
  return sql`SELECT job, max(ended) AS at FROM tokenctl_scheduler.run
    WHERE state = 'completed' GROUP BY job`.rows(queryable);
}

/** Deletes runs that ended before an instant. */
export function deleteRuns(queryable: Queryable, before: number): Promise<number> {
  return sql`DELETE FROM tokenctl_scheduler.run WHERE ended < ${before}`.execute(queryable);
}
