import type { Queryable } from '../../db/database.ts';

/** A job template with the names of its related objects. */
export interface JobTemplateRecord {
  readonly id: number;
  readonly created: Date;
  readonly modified: Date;
  readonly name: string;
  readonly description: string;
  readonly playbook: string;
  readonly limit: string;
  readonly ask_limit_on_launch: boolean;
  readonly organization_id: number | null;
  readonly organization_name: string | null;
  readonly inventory_id: number | null;
  readonly inventory_name: string | null;
  readonly project_id: number | null;
  readonly project_name: string | null;
}

/** Rows `x` of service_job_template with organization `o`, inventory `i` and project `p`. */
export const JOB_TEMPLATE_FROM = `service_job_template x
  LEFT JOIN main_organization o ON o.id = x.organization_id
  LEFT JOIN main_inventory i ON i.id = x.inventory_id
  LEFT JOIN service_project p ON p.id = x.project_id`;

/** The columns of a {@link JobTemplateRecord} over {@link JOB_TEMPLATE_FROM}. */
export const JOB_TEMPLATE_COLUMNS = `
  x.id, x.created, x.modified, x.name, x.description, x.playbook, x."limit", x.ask_limit_on_launch,
  x.organization_id, o.name AS organization_name, x.inventory_id, i.name AS inventory_name,
  x.project_id, p.name AS project_name`;

/** A job template by id, or null. */
export async function findJobTemplate(database: Queryable, id: number): Promise<JobTemplateRecord | null> {
  const rows = await database.query<JobTemplateRecord>(
    `SELECT ${JOB_TEMPLATE_COLUMNS} FROM ${JOB_TEMPLATE_FROM} WHERE x.id = $1`,
    [id],
  );
  return rows[0] ?? null;
}

/** The writable fields of a job template. */
export interface NewJobTemplate {
  readonly name: string;
  readonly description: string;
  readonly playbook: string;
  readonly limit: string;
  readonly ask_limit_on_launch: boolean;
  readonly organizationId: number | null;
  readonly inventoryId: number;
  readonly projectId: number;
  readonly at: Date;
}

function values(template: NewJobTemplate): readonly unknown[] {
  const { name, description, playbook, limit, ask_limit_on_launch, at } = template;
  const references = [template.organizationId, template.inventoryId, template.projectId];
  return [name, description, playbook, limit, ask_limit_on_launch, ...references, at];
}

/** Adds a job template. Returns its id, or null if the organization has one of this name. */
export async function insertJobTemplate(
  transaction: Queryable,
  template: NewJobTemplate,
): Promise<number | null> {
  const rows = await transaction.query<{ id: number }>(
    `INSERT INTO service_job_template (name, description, playbook, "limit", ask_limit_on_launch,
       organization_id, inventory_id, project_id, created, modified)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9) ON CONFLICT (name, organization_id) DO NOTHING RETURNING id`,
    values(template),
  );
  return rows[0]?.id ?? null;
}

/** Writes a job template. Returns false if its organization has another one of this name. */
export async function updateJobTemplate(
  transaction: Queryable,
  id: number,
  template: NewJobTemplate,
): Promise<boolean> {
  const touched = await transaction.execute(
    `UPDATE service_job_template SET name = $1, description = $2, playbook = $3, "limit" = $4,
       ask_limit_on_launch = $5, organization_id = $6, inventory_id = $7, project_id = $8, modified = $9
     WHERE id = $10 AND NOT EXISTS (
       SELECT FROM service_job_template other
       WHERE other.name = $1 AND other.organization_id = $6 AND other.id <> $10)`,
    [...values(template), id],
  );
  return touched === 1;
}

/** Deletes a job template and keeps its jobs. */
export async function deleteJobTemplate(transaction: Queryable, id: number): Promise<boolean> {
  return (await transaction.execute('DELETE FROM service_job_template WHERE id = $1', [id])) === 1;
}

/** A project by id with its organization, or null. */
export async function findProject(
  database: Queryable,
  id: number,
): Promise<{ readonly id: number; readonly organization_id: number | null } | null> {
  const rows = await database.query<{ id: number; organization_id: number | null }>(
    'SELECT id, organization_id FROM service_project WHERE id = $1',
    [id],
  );
  return rows[0] ?? null;
}
