import type { FastifyInstance } from 'fastify';
import { administersOrganization, canSeeEverything, visibleByOrganization } from '../access.ts';
import type { Caller } from '../auth/authenticate.ts';
import type { ServiceContext } from '../context.ts';
import { type Exchange, serveEndpoint } from '../endpoint.ts';
import { forbidden, invalid, notFound } from '../failure.ts';
import type { FieldSet } from '../listing/fields.ts';
import { list } from '../listing/listing.ts';
import { limitProblem, playbookProblem } from '../playbooks/playbook.ts';
import { jsonObject } from '../request.ts';
import {
  deleteJobTemplate,
  findJobTemplate,
  findProject,
  insertJobTemplate,
  JOB_TEMPLATE_COLUMNS,
  JOB_TEMPLATE_FROM,
  type JobTemplateRecord,
  type NewJobTemplate,
  updateJobTemplate,
} from '../store/job-templates.ts';
import { findInventory } from '../store/resources.ts';
import { noSuchId, type Problems, readFields } from './field-values.ts';
import { requireUnused } from './named-resources.ts';
import { pathId } from './request-values.ts';
import { changedValues, leadingFields, logChange, nameAndDescription } from './resource.ts';

/** `/api/v2/job_templates/` and `/api/v2/job_templates/N/`. */
export function serveJobTemplates(app: FastifyInstance, service: ServiceContext): void {
  serveEndpoint(app, service, {
    path: '/api/v2/job_templates/',
    name: 'Job templates',
    description: 'The job templates of the organizations that you administer or audit.',
    fields: jobTemplateFields,
    handlers: { GET: listJobTemplates, POST: create },
  });
  serveEndpoint(app, service, {
    path: '/api/v2/job_templates/:id(^\\d+$)/',
    name: 'Job template',
    description: 'One job template: an inventory and a playbook of a project. DELETE keeps its jobs.',
    fields: jobTemplateFields,
    handlers: {
      GET: async (exchange) => jobTemplateJson(await seenJobTemplate(exchange), exchange.caller),
      PUT: (exchange) => change(exchange, true),
      PATCH: (exchange) => change(exchange, false),
      DELETE: remove,
    },
  });
}

/** The job template that the path names. Throws 404, or 403 if the caller may not see it. */
export async function seenJobTemplate({ service, caller, params }: Exchange): Promise<JobTemplateRecord> {
  const template = await findJobTemplate(service.database, pathId(params['id']));
  if (template === null) throw notFound();
  const { user } = caller;
  const { organization_id: organization } = template;
  const seen = organization !== null && [...user.admin_of, ...user.auditor_of].includes(organization);
  if (!canSeeEverything(user) && !seen) throw forbidden();
  return template;
}

function listJobTemplates(exchange: Exchange): Promise<unknown> {
  return list<JobTemplateRecord>(exchange, {
    fields: jobTemplateFields,
    columns: JOB_TEMPLATE_COLUMNS,
    from: JOB_TEMPLATE_FROM,
    visible: visibleByOrganization(exchange.caller.user, 'x.organization_id'),
    render: (template) => jobTemplateJson(template, exchange.caller),
  });
}

const NAME_TAKEN = { __all__: ['Job template with this Name and Organization already exists.'] };

async function create(exchange: Exchange): Promise<unknown> {
  const { service, caller, reply } = exchange;
  const template = await readJobTemplate(exchange, null);
  const { name, playbook } = template;
  const id = await service.database.transaction(async (transaction) => {
    const made = await insertJobTemplate(transaction, template);
    if (made === null) throw invalid(NAME_TAKEN);
    await logChange(exchange, transaction, {
      operation: 'create',
      object1: 'job_template',
      changes: { id: made, name, playbook },
      resource: { type: 'job_template', id: made },
    });
    return made;
  });
  const made = await findJobTemplate(service.database, id);
  if (made === null) throw notFound();
  reply.code(201).header('Location', `/api/v2/job_templates/${id}/`);
  return jobTemplateJson(made, caller);
}

async function change(exchange: Exchange, replace: boolean): Promise<unknown> {
  const { service, caller } = exchange;
  const before = await changeable(exchange);
  const after = await readJobTemplate(exchange, { before, replace });
  await service.database.transaction(async (transaction) => {
    if (!(await updateJobTemplate(transaction, before.id, after))) throw invalid(NAME_TAKEN);
    const names = ['name', 'description', 'playbook', 'limit', 'ask_limit_on_launch'] as const;
    const changes = changedValues(names, before, after);
    if (Object.keys(changes).length > 0) {
      await logChange(exchange, transaction, {
        operation: 'update',
        object1: 'job_template',
        changes,
        resource: { type: 'job_template', id: before.id },
      });
    }
  });
  return jobTemplateJson(await seenJobTemplate(exchange), caller);
}

async function remove(exchange: Exchange): Promise<undefined> {
  const { id, name } = await changeable(exchange);
  await exchange.service.database.transaction(async (transaction) => {
    await requireUnused(transaction, 'job_template_id', id);
    if (!(await deleteJobTemplate(transaction, id))) throw notFound();
    await logChange(exchange, transaction, {
      operation: 'delete',
      object1: 'job_template',
      changes: { id, name },
    });
  });
}

async function changeable(exchange: Exchange): Promise<JobTemplateRecord> {
  const template = await seenJobTemplate(exchange);
  if (!administersOrganization(exchange.caller.user, template.organization_id)) throw forbidden();
  return template;
}

const name = { type: 'string', label: 'Name' } as const;

/** The fields of a job template. */
const jobTemplateFields: FieldSet = {
  type: 'job_template',
  fields: {
    ...leadingFields({
      type: 'job_template',
      name: 'job template',
      alias: 'x',
      summary: 'Related resources, and what you may do with the job template.',
    }),
    ...nameAndDescription('job template'),
    job_type: { type: 'choice', label: 'Job type', choices: [['run', 'Run']] },
    inventory: {
      type: 'id',
      label: 'Inventory',
      helpText: 'The inventory of hosts to run on.',
      column: 'x.inventory_id',
      writable: 'change',
      required: true,
    },
    project: {
      type: 'id',
      label: 'Project',
      helpText: 'The project with the playbook. Its organization owns the job template.',
      column: 'x.project_id',
      writable: 'change',
      required: true,
    },
    organization: { type: 'id', label: 'Organization', column: 'x.organization_id' },
    playbook: {
      type: 'string',
      label: 'Playbook',
      helpText: 'Path of the playbook in the project.',
      column: 'x.playbook',
      writable: 'change',
      required: true,
      maxLength: 1024,
    },
    limit: {
      type: 'string',
      label: 'Limit',
      helpText: 'A host pattern; empty for all hosts of the inventory.',
      column: 'x."limit"',
      writable: 'change',
      defaultValue: '',
      maxLength: 1024,
    },
    ask_limit_on_launch: {
      type: 'boolean',
      label: 'Ask for the limit on launch',
      helpText: 'Whether a launch may override the limit.',
      column: 'x.ask_limit_on_launch',
      writable: 'change',
      defaultValue: false,
    },
  },
  relations: {
    organization: { searchFields: ['name'], fields: { name: { ...name, column: 'o.name' } } },
    inventory: { searchFields: ['name'], fields: { name: { ...name, column: 'i.name' } } },
    project: { searchFields: ['name'], fields: { name: { ...name, column: 'p.name' } } },
  },
  searchFields: ['name', 'description'],
  order: ['name'],
};

/** A related resource as `summary_fields` shows it; empty without one. */
export function named(
  relation: string,
  { id, name }: { readonly id: number | null; readonly name: string | null },
): Record<string, { id: number; name: string | null }> {
  return id === null ? {} : { [relation]: { id, name } };
}

/** A job template as the API shows it to a caller. */
function jobTemplateJson(template: JobTemplateRecord, caller: Caller): Record<string, unknown> {
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
      jobs: `${url}jobs/`,
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

/** The writable fields of a job template; blank for a new one. */
function writtenFields(before: JobTemplateRecord | null) {
  return {
    name: before?.name ?? '',
    description: before?.description ?? '',
    playbook: before?.playbook ?? '',
    limit: before?.limit ?? '',
    ask_limit_on_launch: before?.ask_limit_on_launch ?? false,
    inventory: before?.inventory_id ?? null,
    project: before?.project_id ?? null,
  };
}

/**
 * Reads a job template from the request body and checks it. The caller must administer the organizations of
 * the inventory and the project; the latter owns the job template.
 *
 * @param current The template to change, or null for a new one; `replace` for PUT, which keeps no old values.
 * @throws RequestFailure 400 and 403
 */
async function readJobTemplate(
  { service, caller, request }: Exchange,
  current: { readonly before: JobTemplateRecord; readonly replace: boolean } | null,
): Promise<NewJobTemplate> {
  const problems: Problems = {};
  const before = current?.before ?? null;
  const method = current === null ? 'POST' : current.replace ? 'PUT' : 'PATCH';
  const {
    inventory: inventoryId,
    project: projectId,
    ...read
  } = readFields(jobTemplateFields, jsonObject(request), {
    current: writtenFields(before),
    method,
    problems,
  });
  const inventory = await findInventory(service.database, inventoryId ?? 0);
  const project = await findProject(service.database, projectId ?? 0);
  if (inventory === null) problems['inventory'] ??= [noSuchId(inventoryId ?? 0)];
  if (project === null) problems['project'] ??= [noSuchId(projectId ?? 0)];
  const badPlaybook = playbookProblem(read.playbook);
  if (badPlaybook !== null) problems['playbook'] ??= [badPlaybook];
  const badLimit = limitProblem(read.limit);
  if (badLimit !== null) problems['limit'] ??= [badLimit];
  if (inventory === null || project === null || Object.keys(problems).length > 0) throw invalid(problems);
  for (const { organization_id } of [inventory, project]) {
    if (!administersOrganization(caller.user, organization_id)) throw forbidden();
  }
  return {
    ...read,
    organizationId: project.organization_id,
    inventoryId: inventory.id,
    projectId: project.id,
    at: service.now(),
  };
}
