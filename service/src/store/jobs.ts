import type { Queryable } from '@tokenctl/common/db/database.ts';
import { identifier, joined, sql } from '@tokenctl/common/db/sql.ts';
import { columnsOf, type JobOptions, OPTION_NAMES } from './job-options.ts';
import { type Person, personColumns } from './users.ts';

/** In the controller's terms. */
export type JobStatus = 'pending' | 'running' | 'successful' | 'failed' | 'error' | 'canceled';

/** A job with the names of its related objects. */
export interface JobRecord extends JobOptions, Person<'created_by'> {
  readonly id: number;
  readonly created: Date;
  readonly modified: Date;
  readonly name: string;
  readonly description: string;
  readonly status: JobStatus;
  readonly started: Date | null;
  readonly finished: Date | null;
  readonly job_explanation: string;
  readonly launch_type: 'manual' | 'relaunch';
  readonly playbook: string;
  readonly execution_node: string;
  readonly organization_id: number | null;
  readonly organization_name: string | null;
  readonly inventory_id: number | null;
  readonly inventory_name: string | null;
  readonly project_id: number | null;
  readonly project_name: string | null;
  readonly job_template_id: number | null;
  readonly job_template_name: string | null;
}

/** Rows `x` of service_job with organization, inventory, project, template and the user who launched it. */
export const JOB_FROM = sql`service_job x
  LEFT JOIN main_organization o ON o.id = x.organization_id
  LEFT JOIN main_inventory i ON i.id = x.inventory_id
  LEFT JOIN service_project p ON p.id = x.project_id
  LEFT JOIN service_job_template j ON j.id = x.job_template_id
  LEFT JOIN auth_user u ON u.id = x.created_by_id`;

/** The columns of a {@link JobRecord} over {@link JOB_FROM}. */
export const JOB_COLUMNS = sql`
  x.id, x.created, x.modified, x.name, x.description, x.status, x.started, x.finished, x.job_explanation,
  x.launch_type, x.playbook, ${columnsOf(OPTION_NAMES, 'x')}, x.execution_node, x.organization_id,
  o.name AS organization_name, x.inventory_id, i.name AS inventory_name, x.project_id, p.name AS project_name,
  x.job_template_id, j.name AS job_template_name, ${personColumns('u', 'created_by')}`;

export function findJob(database: Queryable, id: number): Promise<JobRecord | null> {
  return sql`SELECT ${JOB_COLUMNS} FROM ${JOB_FROM} WHERE x.id = ${id}`.first<JobRecord>(database);
}

/** A new job: the template or job to copy, and the values that differ. */
interface NewJob {
  readonly from: { readonly type: 'job_template' | 'job'; readonly id: number };
  readonly inventoryId: number;
  readonly options: JobOptions;
  readonly createdBy: number;
  readonly runner: string;
  readonly node: string;
  readonly at: Date;
}

const SOURCES = {
  job_template: { table: 'service_job_template', template: 'id', launchType: 'manual' },
  job: { table: 'service_job', template: 'job_template_id', launchType: 'relaunch' },
} as const;

/** Adds a pending job. Returns its id, or null if the copied template or job was deleted. */
export async function insertJob(database: Queryable, job: NewJob): Promise<number | null> {
  const { table, template, launchType } = SOURCES[job.from.type];
  const options = OPTION_NAMES.map((option) => sql`${job.options[option]}`);
  const row = await sql`INSERT INTO service_job (name, description, playbook, organization_id, project_id,
      job_template_id, inventory_id, status, launch_type, created_by_id, runner, execution_node, created,
      modified, ${columnsOf(OPTION_NAMES)})
    SELECT name, description, playbook, organization_id, project_id, ${identifier(template)},
      (SELECT i.id FROM main_inventory i WHERE i.id = ${job.inventoryId}), 'pending', ${launchType},
      ${job.createdBy}::integer, ${job.runner}::uuid, ${job.node}, ${job.at}::timestamptz,
      ${job.at}::timestamptz, ${joined(options)}
    FROM ${identifier(table)} WHERE id = ${job.from.id} RETURNING id`.first<{ id: number }>(database);
  return row?.id ?? null;
}

/** Requests the cancellation of a job. A pending one is canceled at once. Returns false if it had finished. */
export function cancelJob(database: Queryable, { id, at }: { id: number; at: Date }): Promise<boolean> {
  return sql`UPDATE service_job SET cancel_flag = true, modified = ${at},
      finished = CASE WHEN status = 'pending' THEN ${at}::timestamptz END,
      status = CASE WHEN status = 'pending' THEN 'canceled' ELSE status END
    WHERE id = ${id} AND status IN ('pending', 'running')`.touchesOne(database);
}

/** Deletes a finished job with its output. Returns false if it has not finished. */
export function deleteJob(transaction: Queryable, id: number): Promise<boolean> {
  return sql`DELETE FROM service_job WHERE id = ${id}
    AND status NOT IN ('pending', 'running')`.touchesOne(transaction);
}

interface OutputPiece {
  /** From 0, without gaps. */
  readonly number: number;
  readonly content: string;
}

/** The first stored pieces of a job's output, starting at a number. */
export function readOutput(
  database: Queryable,
  { jobId, from, most }: { jobId: number; from: number; most: number },
): Promise<OutputPiece[]> {
  return sql`SELECT number, content FROM service_job_output WHERE job_id = ${jobId} AND number >= ${from}
    ORDER BY number LIMIT ${most}`.rows<OutputPiece>(database);
}

/** How many pieces {@link readOutputEnd} reads: up to half a megabyte. */
const LAST_PIECES = 16;

export async function readOutputEnd(database: Queryable, jobId: number): Promise<string> {
  const pieces = await sql`SELECT number, content FROM service_job_output WHERE job_id = ${jobId}
    ORDER BY number DESC LIMIT ${LAST_PIECES}`.rows<OutputPiece>(database);
  return pieces
    .reverse()
    .map(({ content }) => content)
    .join('');
}

/** A job and the process that runs it. Statements for another process change nothing. */
interface OwnJob {
  readonly id: number;
  readonly runner: string;
}

export interface RunnableJob extends JobOptions {
  readonly playbook: string;
  readonly inventory_id: number | null;
  /** The project's folder in the projects folder; null if the project was deleted. */
  readonly project_path: string | null;
}

/**
 * Starts a pending job. Returns null if it was canceled or finished in the meantime. Returns `blocked` while
 * another job of its template runs or was launched earlier, unless they may run simultaneously.
 */
export async function startJob(
  transaction: Queryable,
  { id, runner, at }: OwnJob & { at: Date },
): Promise<RunnableJob | 'blocked' | null> {
  // One at a time across all replicas.
  await sql`SELECT FROM service_job_template t JOIN service_job x ON x.job_template_id = t.id
    WHERE x.id = ${id} AND NOT x.allow_simultaneous FOR UPDATE OF t`.rows(transaction);
  const [blocked] = await sql`SELECT FROM service_job x JOIN service_job other
    ON other.job_template_id = x.job_template_id
    WHERE x.id = ${id} AND x.status = 'pending' AND NOT x.allow_simultaneous
      AND (other.status = 'running' OR (other.status = 'pending' AND other.id < x.id))
    LIMIT 1`.rows(transaction);
  if (blocked !== undefined) return 'blocked';
  return sql`UPDATE service_job x SET status = 'running', started = ${at}, modified = ${at}, heartbeat = now()
    WHERE x.id = ${id} AND x.runner = ${runner} AND x.status = 'pending'
    RETURNING x.playbook, ${columnsOf(OPTION_NAMES, 'x')}, x.inventory_id,
      (SELECT p.local_path FROM service_project p
      WHERE p.id = x.project_id) AS project_path`.first<RunnableJob>(transaction);
}

/** Finishes a pending or running job. Returns false if it had finished. */
export function endJob(
  database: Queryable,
  end: OwnJob & { readonly status: JobStatus; readonly explanation: string; readonly at: Date },
): Promise<boolean> {
  return sql`UPDATE service_job SET status = ${end.status},
    job_explanation = ${end.explanation}, finished = ${end.at}, modified = ${end.at}
    WHERE id = ${end.id} AND runner = ${end.runner}
      AND status IN ('pending', 'running')`.touchesOne(database);
}

/** Appends to a job's output. Pieces are numbered from 0. */
export async function appendOutput(
  database: Queryable,
  piece: { readonly jobId: number; readonly number: number; readonly content: string },
): Promise<void> {
  await sql`INSERT INTO service_job_output (job_id, number, content)
    VALUES (${piece.jobId}, ${piece.number}, ${piece.content})`.execute(database);
}

/** Renews the heartbeat of these jobs. Returns the unfinished ones, with their cancel flag. */
export function renewJobs(
  database: Queryable,
  { ids, runner }: { ids: readonly number[]; runner: string },
): Promise<{ readonly id: number; readonly cancel_flag: boolean }[]> {
  return sql`UPDATE service_job SET heartbeat = now()
    WHERE id = ANY(${ids}::integer[]) AND runner = ${runner} AND status IN ('pending', 'running')
    RETURNING id, cancel_flag`.rows(database);
}

/** Fails jobs without a heartbeat for `seconds`, by the database's clock. Returns their number. */
export function failLostJobs(
  database: Queryable,
  { seconds, explanation }: { seconds: number; explanation: string },
): Promise<number> {
  return sql`UPDATE service_job SET status = 'error', job_explanation = ${explanation}, finished = now(),
    modified = now()
    WHERE status IN ('pending', 'running')
    AND heartbeat <= now() - make_interval(secs => ${seconds})`.execute(database);
}
