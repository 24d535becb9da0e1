import type { Queryable } from '../../db/database.ts';
import { ASK_NAMES, type Asks, columnsOf, type JobOptions, OPTION_NAMES, pick } from './job-options.ts';
import { type RoleName, roleIds } from './object-roles.ts';

/** A job template with the names of its related objects. */
export interface JobTemplateRecord extends JobOptions, Asks {
  readonly id: number;
  readonly created: Date;
  readonly modified: Date;
  readonly name: string;
  readonly description: string;
  readonly playbook: string;
  readonly organization_id: number | null;
  readonly organization_name: string | null;
  readonly inventory_id: number | null;
  readonly inventory_name: string | null;
  readonly project_id: number | null;
  readonly project_name: string | null;
  /** The ids of its roles. */
  readonly roles: Readonly<Partial<Record<RoleName, number>>>;
}

/** Rows `x` of service_job_template with organization `o`, inventory `i` and project `p`. */
export const JOB_TEMPLATE_FROM = `service_job_template x
  LEFT JOIN main_organization o ON o.id = x.organization_id
  LEFT JOIN main_inventory i ON i.id = x.inventory_id
  LEFT JOIN service_project p ON p.id = x.project_id`;

/** The columns of a {@link JobTemplateRecord} over {@link JOB_TEMPLATE_FROM}. */
export const JOB_TEMPLATE_COLUMNS = `
  x.id, x.created, x.modified, x.name, x.description, x.playbook, ${columnsOf(OPTION_NAMES, 'x')}, ${columnsOf(ASK_NAMES, 'x')},
  x.organization_id, o.name AS organization_name, x.inventory_id, i.name AS inventory_name,
  x.project_id, p.name AS project_name, ${roleIds('job_template', 'x.id')} AS roles`;

/** A job template by id, or null. */
export async function findJobTemplate(database: Queryable, id: number): Promise<JobTemplateRecord | null> {
  const rows = await database.query<JobTemplateRecord>(
    `SELECT ${JOB_TEMPLATE_COLUMNS} FROM ${JOB_TEMPLATE_FROM} WHERE x.id = $1`,
    [id],
  );
  return rows[0] ?? null;
}

/** The id of the job template of this name in the organization of that name, or null. */
export async function findJobTemplateId(
  database: Queryable,
  name: string,
  organization: string,
): Promise<number | null> {
  const rows = await database.query<{ id: number }>(
    `SELECT x.id FROM ${JOB_TEMPLATE_FROM} WHERE x.name = $1 AND COALESCE(o.name, '') = $2`,
    [name, organization],
  );
  return rows[0]?.id ?? null;
}

/** The writable fields of a job template. */
export interface NewJobTemplate extends JobOptions, Asks {
  readonly name: string;
  readonly description: string;
  readonly playbook: string;
  readonly organization_id: number | null;
  readonly inventory_id: number | null;
  readonly project_id: number;
}

const WRITTEN = [
  'name',
  'organization_id',
  ...(['description', 'playbook', 'inventory_id', 'project_id'] as const),
  ...OPTION_NAMES,
  ...ASK_NAMES,
] as const;

/** Adds a job template. Returns its id, or null if the organization has one of this name. */
export async function insertJobTemplate(
  transaction: Queryable,
  { template, at }: { readonly template: NewJobTemplate; readonly at: Date },
): Promise<number | null> {
  const places = WRITTEN.map((_name, index) => `$${index + 2}`).join(', ');
  const rows = await transaction.query<{ id: number }>(
    `INSERT INTO service_job_template (created, modified, ${columnsOf(WRITTEN)})
     VALUES ($1, $1, ${places}) ON CONFLICT (name, organization_id) DO NOTHING RETURNING id`,
    [at, ...Object.values(pick(template, WRITTEN))],
  );
  return rows[0]?.id ?? null;
}

/** Writes a job template. Returns false if its organization has another one of this name. */
export async function updateJobTemplate(
  transaction: Queryable,
  change: { readonly id: number; readonly template: NewJobTemplate; readonly at: Date },
): Promise<boolean> {
  const places = WRITTEN.map((name, index) => `"${name}" = $${index + 3}`).join(', ');
  const touched = await transaction.execute(
    `UPDATE service_job_template SET modified = $2, ${places}
     WHERE id = $1 AND NOT EXISTS (
       SELECT FROM service_job_template other
       WHERE other.name = $3 AND other.organization_id = $4 AND other.id <> $1)`,
    [change.id, change.at, ...Object.values(pick(change.template, WRITTEN))],
  );
  return touched === 1;
}

/** Deletes a job template and keeps its jobs. */
export async function deleteJobTemplate(transaction: Queryable, id: number): Promise<boolean> {
  return (await transaction.execute('DELETE FROM service_job_template WHERE id = $1', [id])) === 1;
}

/** Where a project is: its organization, and its folder in the projects folder (empty for none). */
interface ProjectPlace {
  readonly id: number;
  readonly organization_id: number | null;
  readonly local_path: string;
}

/** A project by id, or null. */
export async function findProject(database: Queryable, id: number): Promise<ProjectPlace | null> {
  const rows = await database.query<ProjectPlace>(
    'SELECT id, organization_id, local_path FROM service_project WHERE id = $1',
    [id],
  );
  return rows[0] ?? null;
}
