import type { FastifyInstance } from 'fastify';
import { administersOrganization } from '../access.ts';
import type { ServiceContext } from '../context.ts';
import { type Exchange, serveEndpoint } from '../endpoint.ts';
import { badRequest, forbidden, invalid, notFound, tooManyRequests } from '../failure.ts';
import type { FieldSet } from '../listing/fields.ts';
import { limitProblem } from '../playbooks/playbook.ts';
import { jsonObject } from '../request.ts';
import type { JobTemplateRecord } from '../store/job-templates.ts';
import { findJob, insertJob } from '../store/jobs.ts';
import { type Problems, readFields } from './field-values.ts';
import { seenJobTemplate } from './job-templates.ts';
import { jobJson } from './jobs.ts';
import { logChange } from './resource.ts';

/** What a launch on the controller can override. The service's templates let it override the limit only. */
const PROMPTS = [
  ...['limit', 'extra_vars', 'inventory', 'credentials', 'job_type', 'job_tags', 'skip_tags', 'verbosity'],
  ...['diff_mode', 'scm_branch', 'execution_environment', 'labels', 'forks', 'job_slice_count', 'timeout'],
  'instance_groups',
];

const WAIT_SECONDS = 10;

const launchFields: FieldSet = {
  type: 'job_template',
  fields: {
    limit: {
      type: 'string',
      label: 'Limit',
      helpText: 'A host pattern that overrides the one of the template, if the template allows it.',
      writable: 'create',
      maxLength: 1024,
    },
  },
  relations: {},
  searchFields: [],
  order: [],
};

/** `/api/v2/job_templates/N/launch/` (specification, section 4). */
export function serveLaunch(app: FastifyInstance, service: ServiceContext): void {
  serveEndpoint(app, service, {
    path: '/api/v2/job_templates/:id(^\\d+$)/launch/',
    name: 'Launch',
    description:
      'GET shows what a launch may override. POST launches a job; `limit` is used if the template allows it.',
    fields: launchFields,
    handlers: { GET: async (exchange) => asked(await seenJobTemplate(exchange)), POST: launch },
  });
}

function asked(template: JobTemplateRecord): Record<string, unknown> {
  const { id, name, description, inventory_id } = template;
  return {
    can_start_without_user_input: inventory_id !== null,
    passwords_needed_to_start: [],
    ask_variables_on_launch: false,
    ask_inventory_on_launch: false,
    ask_credential_on_launch: false,
    ask_limit_on_launch: template.ask_limit_on_launch,
    survey_enabled: false,
    variables_needed_to_start: [],
    credential_needed_to_start: false,
    inventory_needed_to_start: inventory_id === null,
    job_template_data: { name, id, description },
    defaults: {
      limit: template.limit,
      inventory: inventory_id === null ? {} : { id: inventory_id, name: template.inventory_name },
    },
  };
}

async function launch(exchange: Exchange): Promise<unknown> {
  const { service, caller, request, reply } = exchange;
  const template = await seenJobTemplate(exchange);
  if (!administersOrganization(caller.user, template.organization_id)) throw forbidden();
  const { limit, ignored } = readLaunch(jsonObject(request), template);
  if (template.inventory_id === null) throw badRequest('The inventory of this job template was deleted.');
  if (template.project_id === null) throw badRequest('The project of this job template was deleted.');
  if (!service.jobs.hasRoom) throw tooManyRequests('Too many jobs are waiting.', WAIT_SECONDS);
  const id = await service.database.transaction(async (transaction) => {
    const made = await insertJob(transaction, {
      templateId: template.id,
      limit,
      createdBy: caller.user.id,
      runner: service.jobs.id,
      node: service.node,
      at: service.now(),
    });
    if (made === null) return null;
    await logChange(exchange, transaction, {
      operation: 'create',
      object1: 'job',
      changes: {
        id: made,
        name: template.name,
        playbook: template.playbook,
        limit,
        job_template: `${template.name}-${template.id}`,
      },
      resource: { type: 'job_template', id: template.id },
    });
    return made;
  });
  const job = id === null ? null : await findJob(service.database, id);
  if (job === null) throw notFound();
  service.jobs.enqueue(job.id);
  reply.code(201).header('Location', `/api/v2/jobs/${job.id}/`);
  return { job: job.id, ignored_fields: ignored, ...jobJson(job, exchange) };
}

function readLaunch(
  body: Readonly<Record<string, unknown>>,
  template: JobTemplateRecord,
): { readonly limit: string; readonly ignored: Record<string, unknown> } {
  const given = Object.entries(body).filter(([name]) => PROMPTS.includes(name));
  const ignored = given.filter(([name]) => name !== 'limit' || !template.ask_limit_on_launch);
  if (!template.ask_limit_on_launch) return { limit: template.limit, ignored: Object.fromEntries(ignored) };
  const problems: Problems = {};
  const current = { limit: template.limit };
  const { limit } = readFields(launchFields, body, { current, method: 'POST', problems });
  const problem = limitProblem(limit);
  if (problem !== null) problems['limit'] ??= [problem];
  if (Object.keys(problems).length > 0) throw invalid(problems);
  return { limit, ignored: Object.fromEntries(ignored) };
}
