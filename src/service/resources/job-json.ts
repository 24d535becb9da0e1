import { administersOrganization } from '../access.ts';
import type { Exchange } from '../endpoint.ts';
import type { JobRecord } from '../store/jobs.ts';
import { named } from './job-template-json.ts';

/** A job as the API shows it to a caller. */
export function jobJson(job: JobRecord, { service, caller }: Exchange): Record<string, unknown> {
  const { id, organization_id, inventory_id, project_id, job_template_id, created_by_id } = job;
  const url = `/api/v2/jobs/${id}/`;
  const { status, started, finished } = job;
  const may = caller.mayWrite && administersOrganization(caller.user, organization_id);
  const failed = status === 'failed' || status === 'error' || status === 'canceled';
  return {
    id,
    type: 'job',
    url,
    related: {
      ...(created_by_id !== null && { created_by: `/api/v2/users/${created_by_id}/` }),
      ...(organization_id !== null && { organization: `/api/v2/organizations/${organization_id}/` }),
      ...(inventory_id !== null && { inventory: `/api/v2/inventories/${inventory_id}/` }),
      ...(job_template_id !== null && {
        job_template: `/api/v2/job_templates/${job_template_id}/`,
        unified_job_template: `/api/v2/job_templates/${job_template_id}/`,
      }),
      stdout: `${url}stdout/`,
      cancel: `${url}cancel/`,
    },
    summary_fields: {
      ...named('organization', { id: organization_id, name: job.organization_name }),
      ...named('inventory', { id: inventory_id, name: job.inventory_name }),
      ...named('project', { id: project_id, name: job.project_name }),
      ...named('job_template', { id: job_template_id, name: job.job_template_name }),
      ...(created_by_id !== null && {
        created_by: {
          id: created_by_id,
          username: job.created_by_username,
          first_name: job.created_by_first_name,
          last_name: job.created_by_last_name,
        },
      }),
      user_capabilities: { start: may, delete: false },
    },
    created: job.created,
    modified: job.modified,
    name: job.name,
    description: job.description,
    unified_job_template: job_template_id,
    launch_type: 'manual',
    status,
    failed,
    started,
    finished,
    canceled_on: status === 'canceled' ? finished : null,
    elapsed: started === null ? 0 : elapsed(started, finished ?? service.now()),
    job_explanation: job.job_explanation,
    execution_node: job.execution_node,
    job_type: 'run',
    inventory: inventory_id,
    project: project_id,
    playbook: job.playbook,
    limit: job.limit,
    organization: organization_id,
    job_template: job_template_id,
  };
}

/** Seconds, to the millisecond. */
function elapsed(from: Date, to: Date): number {
  return Math.max(0, (to.getTime() - from.getTime()) / 1000);
}
