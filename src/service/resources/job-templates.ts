import type { FastifyInstance } from 'fastify';
import type { Queryable } from '../../db/database.ts';
import { administersOrganization, seesEverything, visibleByOrganization } from '../access.ts';
import type { ServiceContext } from '../context.ts';
import { type Exchange, serveEndpoint } from '../endpoint.ts';
import { forbidden, invalid, notFound } from '../failure.ts';
import { list } from '../listing/listing.ts';
import { insertActivity } from '../store/activity.ts';
import {
  deleteJobTemplate,
  findJobTemplate,
  insertJobTemplate,
  JOB_TEMPLATE_COLUMNS,
  JOB_TEMPLATE_FROM,
  type JobTemplateRecord,
  updateJobTemplate,
} from '../store/job-templates.ts';
import { jobTemplateFields } from './job-template-fields.ts';
import { jobTemplateJson } from './job-template-json.ts';
import { pathId } from './path-id.ts';
import { readJobTemplate } from './read-job-template.ts';

/** `/api/v2/job_templates/` and `/api/v2/job_templates/N/`. */
export function serveJobTemplates(app: FastifyInstance, service: ServiceContext): void {
  serveEndpoint(app, service, {
    path: '/api/v2/job_templates/',
    name: 'Job templates',
    description: 'Those of the organizations that you administer or audit.',
    fields: jobTemplateFields,
    handlers: { GET: listJobTemplates, POST: create },
  });
  serveEndpoint(app, service, {
    path: '/api/v2/job_templates/:id(^\\d+$)/',
    name: 'Job template',
    description: 'What a job is made of: an inventory, and a playbook of a project. DELETE leaves its jobs.',
    fields: jobTemplateFields,
    handlers: {
      GET: async (exchange) => jobTemplateJson(await seenJobTemplate(exchange), exchange.caller),
      PUT: (exchange) => change(exchange, true),
      PATCH: (exchange) => change(exchange, false),
      DELETE: remove,
    },
  });
}

/** The job template that the path names, if the caller sees it. Throws 404 and 403. */
export async function seenJobTemplate({ service, caller, params }: Exchange): Promise<JobTemplateRecord> {
  const template = await findJobTemplate(service.database, pathId(params['id']));
  if (template === null) throw notFound();
  const { user } = caller;
  const { organization_id: organization } = template;
  const seen = organization !== null && [...user.admin_of, ...user.auditor_of].includes(organization);
  if (!seesEverything(user) && !seen) throw forbidden();
  return template;
}

function listJobTemplates({ service, request, caller }: Exchange): Promise<unknown> {
  return list<JobTemplateRecord>(service.database, request.url, {
    fields: jobTemplateFields,
    columns: JOB_TEMPLATE_COLUMNS,
    from: JOB_TEMPLATE_FROM,
    visible: visibleByOrganization(caller.user, 'x.organization_id'),
    render: (template) => jobTemplateJson(template, caller),
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
    await note(exchange, transaction, 'create', { id: made, name, playbook });
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
    const changed = names.filter((name) => before[name] !== after[name]);
    const changes = Object.fromEntries(changed.map((name) => [name, [before[name], after[name]]]));
    if (changed.length > 0) await note(exchange, transaction, 'update', changes);
  });
  return jobTemplateJson(await seenJobTemplate(exchange), caller);
}

async function remove(exchange: Exchange): Promise<undefined> {
  const { id, name } = await changeable(exchange);
  await exchange.service.database.transaction(async (transaction) => {
    if (!(await deleteJobTemplate(transaction, id))) throw notFound();
    await note(exchange, transaction, 'delete', { id, name });
  });
}

async function changeable(exchange: Exchange): Promise<JobTemplateRecord> {
  const template = await seenJobTemplate(exchange);
  if (!administersOrganization(exchange.caller.user, template.organization_id)) throw forbidden();
  return template;
}

function note(
  { service, caller }: Exchange,
  transaction: Queryable,
  operation: 'create' | 'update' | 'delete',
  changes: Readonly<Record<string, unknown>>,
): Promise<unknown> {
  return insertActivity(transaction, {
    operation,
    at: service.now(),
    changes,
    object1: 'job_template',
    actorId: caller.user.id,
    node: service.node,
  });
}
