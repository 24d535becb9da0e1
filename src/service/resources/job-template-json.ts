import { administersOrganization } from '../access.ts';
import type { Caller } from '../auth/authenticate.ts';
import type { JobTemplateRecord } from '../store/job-templates.ts';

/** A reference to another resource, as `summary_fields` shows it; nothing where there is none. */
export function named(
  relation: string,
  { id, name }: { readonly id: number | null; readonly name: string | null },
): Record<string, { id: number; name: string | null }> {
  return id === null ? {} : { [relation]: { id, name } };
}

/** A job template as the API shows it to a caller. */
export function jobTemplateJson(template: JobTemplateRecord, caller: Caller): Record<string, unknown> {
  const { id, organization_id, inventory_id, project_id } = template;
  const url = `/api/v2/job_templates/${id}/`;
  const may = caller.mayWrite && administersOrganization(caller.user, organization_id);
  return {
    id,
    type: 'job_template',
    url,
    related: {
      ...(organization_id !== null && { organization: `/api/v2/organizations/${organization_id}/` }),
      ...(inventory_id !== null && { inventory: `/api/v2/inventories/${inventory_id}/` }),
      launch: `${url}launch/`,
      jobs: `/api/v2/jobs/?job_template=${id}`,
    },
    summary_fields: {
      ...named('organization', { id: organization_id, name: template.organization_name }),
      ...named('inventory', { id: inventory_id, name: template.inventory_name }),
      ...named('project', { id: project_id, name: template.project_name }),
      user_capabilities: { edit: may, delete: may, start: may },
    },
    created: template.created,
    modified: template.modified,
    name: template.name,
    description: template.description,
    job_type: 'run',
    inventory: inventory_id,
    project: project_id,
    organization: organization_id,
    playbook: template.playbook,
    limit: template.limit,
    ask_limit_on_launch: template.ask_limit_on_launch,
  };
}
