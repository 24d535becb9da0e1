import type { Queryable } from '../../db/database.ts';

/** The status of a job in the controller's terms. */
export type JobStatus = 'pending' | 'running' | 'successful' | 'failed' | 'error' | 'canceled';

/** A job with the names of its related objects. */
export interface JobRecord {
  readonly id: number;
  readonly created: Date;
  readonly modified: Date;
  readonly name: string;
  readonly description: string;
  readonly status: JobStatus;
  readonly started: Date | null;
  readonly finished: Date | null;
  readonly job_explanation: string;
  readonly playbook: string;
  readonly limit: string;
  readonly execution_node: string;
  readonly organization_id: number | null;
  readonly organization_name: string | null;
  readonly inventory_id: number | null;
  readonly inventory_name: string | null;
  readonly project_id: number | null;
  readonly project_name: string | null;
  readonly job_template_id: number | null;
  readonly job_template_name: string | null;
  readonly created_by_id: number | null;
  readonly created_by_username: string | null;
  readonly created_by_first_name: string | null;
  readonly created_by_last_name: string | null;
}

/** Rows `x` of service_job with organization, inventory, project, template and who launched it. */
export const JOB_FROM = `service_job x
  LEFT JOIN main_organization o ON o.id = x.organization_id
  LEFT JOIN main_inventory i ON i.id = x.inventory_id
  LEFT JOIN service_project p ON p.id = x.project_id
  LEFT JOIN service_job_template j ON j.id = x.job_template_id
  LEFT JOIN auth_user u ON u.id = x.created_by_id`;

/** The columns of a {@link JobRecord} over {@link JOB_FROM}. */
export const JOB_COLUMNS = `
  x.id, x.created, x.modified, x.name, x.description, x.status, x.started, x.finished, x.job_explanation,
  x.playbook, x."limit", x.execution_node, x.organization_id, o.name AS organization_name,
  x.inventory_id, i.name AS inventory_name, x.project_id, p.name AS project_name,
  x.job_template_id, j.name AS job_template_name, x.created_by_id, u.username AS created_by_username,
  u.first_name AS created_by_first_name, u.last_name AS created_by_last_name`;

/** A job by id, or null. */
export async function findJob(database: Queryable, id: number): Promise<JobRecord | null> {
  const rows = await database.query<JobRecord>(`SELECT ${JOB_COLUMNS} FROM ${JOB_FROM} WHERE x.id = $1`, [
    id,
  ]);
  return rows[0] ?? null;
}

/** A new job: the template to copy, and the limit of this launch. */
interface NewJob {
  readonly templateId: number;
  readonly limit: string;
  readonly createdBy: number;
  readonly runner: string;
  readonly node: string;
  readonly at: Date;
}

/** Adds a pending job. Returns its id, or null if the template was deleted. */
export async function insertJob(database: Queryable, job: NewJob): Promise<number | null> {
  const rows = await database.query<{ id: number }>(
    `INSERT INTO service_job (name, description, playbook, organization_id, inventory_id, project_id,
       job_template_id, status, "limit", created_by_id, runner, execution_node, created, modified)
     SELECT name, description, playbook, organization_id, inventory_id, project_id,
       id, 'pending', $2, $3, $4, $5, $6, $6 FROM service_job_template WHERE id = $1 RETURNING id`,
    [job.templateId, job.limit, job.createdBy, job.runner, job.node, job.at],
  );
  return rows[0]?.id ?? null;
}

/** Requests the cancellation of a job; a pending one is canceled at once. Returns false if it had finished. */
export async function cancelJob(
  database: Queryable,
  { id, at }: { readonly id: number; readonly at: Date },
): Promise<boolean> {
  const touched = await database.execute(
    `UPDATE service_job SET cancel_flag = true, modified = $2,
       finished = CASE WHEN status = 'pending' THEN $2::timestamptz END,
       status = CASE WHEN status = 'pending' THEN 'canceled' ELSE status END
     WHERE id = $1 AND status IN ('pending', 'running')`,
    [id, at],
  );
  return touched === 1;
}

/** Deletes a finished job with its output. Returns false if it has not finished. */
export async function deleteJob(transaction: Queryable, id: number): Promise<boolean> {
  const deleted = await transaction.execute(
    "DELETE FROM service_job WHERE id = $1 AND status NOT IN ('pending', 'running')",
    [id],
  );
  return deleted === 1;
}

/** The stored output of a job. */
export async function readOutput(database: Queryable, id: number): Promise<string> {
  const rows = await database.query<{ content: string }>(
    'SELECT content FROM service_job_output WHERE job_id = $1 ORDER BY number',
    [id],
  );
  return rows.map(({ content }) => content).join('');
}

/** A job and the process that runs it. Statements of another process change nothing. */
interface OwnJob {
  readonly id: number;
  readonly runner: string;
}

/** What a job runs. */
export interface RunnableJob {
  readonly playbook: string;
  readonly limit: string;
  readonly inventory_id: number | null;
  /** The project's folder in the projects folder; null if the project was deleted. */
  readonly project_path: string | null;
}

/** Starts a pending job. Returns null if it was canceled or finished in the meantime. */
export async function startJob(
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

/** Finishes a pending or running job. Returns false if it had finished. */
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

/** Appends to the output of a job. Pieces are numbered from 0. */
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

/** Renews the heartbeat of these jobs. Returns the unfinished ones, with their cancel flag. */
export function renewJobs(
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
 * Fails jobs without a heartbeat for `seconds`, by the database's clock. Returns their number.
 */
export function failLostJobs(
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
