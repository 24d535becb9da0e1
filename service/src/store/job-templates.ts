import type { Queryable } from '@tokenctl/common/db/database.ts';
import { sql } from '@tokenctl/common/db/sql.ts';
import { ASK_NAMES, type Asks, columnsOf, type JobOptions, OPTION_NAMES } from './job-options.ts';
import {
  findResource,
  OF_ORGANIZATION,
  ORGANIZATION_OF,
  type ResourceRow,
  type Storage,
} from './resources.ts';

/** A job template with the names of its related objects. */
export interface JobTemplateRecord extends ResourceRow, JobOptions, Asks {
  readonly playbook: string;
  readonly organization: number | null;
  readonly organization_name: string | null;
  readonly inventory: number | null;
  readonly inventory_name: string | null;
  readonly project: number | null;
  readonly project_name: string | null;
}

const OPTIONS = [...OPTION_NAMES, ...ASK_NAMES];

/** Rows `x` of service_job_template with organization `o`, inventory `i` and project `p`. */
export const JOB_TEMPLATES: Storage = {
  table: 'service_job_template',
  from: sql`service_job_template x ${OF_ORGANIZATION}
    LEFT JOIN main_inventory i ON i.id = x.inventory_id
    LEFT JOIN service_project p ON p.id = x.project_id`,
  columns: sql`${ORGANIZATION_OF}, x.inventory_id AS inventory, i.name AS inventory_name,
    x.project_id AS project, p.name AS project_name, x.playbook, ${columnsOf(OPTIONS, 'x')}`,
  written: ['name', 'description', 'playbook', 'organization', 'inventory', 'project', ...OPTIONS],
  owner: 'organization_id',
  roles: 'job_template',
};

export function findJobTemplate(database: Queryable, id: number): Promise<JobTemplateRecord | null> {
  return findResource(database, JOB_TEMPLATES, id);
}

/** A project's organization, and its folder in the projects folder (empty for none). */
interface ProjectPlace {
  readonly id: number;
  readonly organization_id: number | null;
  readonly local_path: string;
}

export function findProject(database: Queryable, id: number): Promise<ProjectPlace | null> {
  return sql`SELECT id, organization_id, local_path FROM service_project
    WHERE id = ${id}`.first<ProjectPlace>(database);
}
