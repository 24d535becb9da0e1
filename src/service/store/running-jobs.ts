import type { Queryable } from '../../db/database.ts';
import type { JobStatus } from './jobs.ts';

/** Which job, and which process runs it: a statement of another process than its own touches nothing. */
export interface OwnJob {
  readonly id: number;
  readonly runner: string;
}

/** What is to be run. */
export interface RunnableJob {
  readonly playbook: string;
  readonly limit: string;
  readonly inventory_id: number | null;
  /** The project's folder below that of all projects; null where the project is gone. */
  readonly project_path: string | null;
}

/** Takes a waiting job into work. Returns null where it was canceled or ended meanwhile. */
export async function beginJob(
  database: Queryable,
  { id, runner, at }: OwnJob & { readonly at: Date },
): Promise<RunnableJob | null> {
  const rows = await database.query<RunnableJob>(
    `UPDATE service_job x SET status = 'running', started = $3, modified = $3, heartbeat = now()
     WHERE x.id = $1 AND x.runner = $2 AND x.status = 'pending'
     RETURNING x.playbook, x."limit", x.inventory_id,
       (SELECT p.local_path FROM service_project p WHERE p.id = x.project_id) AS project_path`,
    [id, runner, at],
  );
  return rows[0] ?? null;
}

/** Ends a job that waits or runs. Returns false where somebody else ended it. */
export async function endJob(
  database: Queryable,
  end: OwnJob & { readonly status: JobStatus; readonly explanation: string; readonly at: Date },
): Promise<boolean> {
  const touched = await database.execute(
    `UPDATE service_job SET status = $3, job_explanation = $4, finished = $5, modified = $5
     WHERE id = $1 AND runner = $2 AND status IN ('pending', 'running')`,
    [end.id, end.runner, end.status, end.explanation, end.at],
  );
  return touched === 1;
}

/** Adds to what a job printed. Pieces are numbered from 0. */
export async function appendOutput(
  database: Queryable,
  piece: { readonly jobId: number; readonly number: number; readonly content: string },
): Promise<void> {
  await database.execute('INSERT INTO service_job_output (job_id, number, content) VALUES ($1, $2, $3)', [
    piece.jobId,
    piece.number,
    piece.content,
  ]);
}

/** Says that these jobs are still being worked on. Returns those that are to go on, and which are to be canceled. */
export function keepJobs(
  database: Queryable,
  { ids, runner }: { readonly ids: readonly number[]; readonly runner: string },
): Promise<{ readonly id: number; readonly cancel_flag: boolean }[]> {
  return database.query(
    `UPDATE service_job SET heartbeat = now()
     WHERE id = ANY($1::integer[]) AND runner = $2 AND status IN ('pending', 'running')
     RETURNING id, cancel_flag`,
    [ids, runner],
  );
}

/**
 * Ends jobs whose process has been silent for longer than `seconds`; times are the database's own, so that
 * clocks of several machines need not agree. Returns how many.
 */
export function endLostJobs(
  database: Queryable,
  { seconds, explanation }: { readonly seconds: number; readonly explanation: string },
): Promise<number> {
  return database.execute(
    `UPDATE service_job SET status = 'error', job_explanation = $2, finished = now(), modified = now()
     WHERE status IN ('pending', 'running') AND heartbeat <= now() - make_interval(secs => $1)`,
    [seconds, explanation],
  );
}

/** The enabled hosts of an inventory, by name. */
export function enabledHosts(
  database: Queryable,
  inventoryId: number,
): Promise<{ readonly name: string; readonly variables: string }[]> {
  return database.query(
    'SELECT name, variables FROM main_host WHERE inventory_id = $1 AND enabled ORDER BY name',
    [inventoryId],
  );
}
