import type { FastifyInstance } from 'fastify';
import { administersOrganization, canSeeEverything, visibleByOrganization } from '../access.ts';
import type { ServiceContext } from '../context.ts';
import { type Exchange, serveEndpoint } from '../endpoint.ts';
import { badRequest, forbidden, notFound, RequestFailure } from '../failure.ts';
import type { FieldSet } from '../listing/fields.ts';
import { allOf, type Condition } from '../listing/filters.ts';
import { list } from '../listing/listing.ts';
import { escapeHtml } from '../pages/page.ts';
import { parseTarget } from '../request.ts';
import {
  cancelJob,
  deleteJob,
  findJob,
  JOB_COLUMNS,
  JOB_FROM,
  type JobRecord,
  readOutput,
} from '../store/jobs.ts';
import { named, seenJobTemplate } from './job-templates.ts';
import { pathId } from './request-values.ts';
import { leadingFields, logChange } from './resource.ts';

/** `/api/v2/jobs/`, `/api/v2/jobs/N/` and its `cancel/`. */
export function serveJobs(app: FastifyInstance, service: ServiceContext): void {
  serveEndpoint(app, service, {
    path: '/api/v2/jobs/',
    name: 'Jobs',
    description: 'The jobs of the organizations that you administer or audit.',
    fields: jobFields,
    handlers: { GET: (exchange) => listJobs(exchange) },
  });
  serveEndpoint(app, service, {
    path: '/api/v2/unified_jobs/',
    name: 'Unified jobs',
    description: 'The same as the jobs: this service runs nothing else.',
    fields: jobFields,
    handlers: { GET: (exchange) => listJobs(exchange) },
  });
  serveEndpoint(app, service, {
    path: '/api/v2/job_templates/:id(^\\d+$)/jobs/',
    name: 'Jobs of a job template',
    description: 'The jobs that were launched from this job template.',
    fields: jobFields,
    handlers: {
      GET: async (exchange) => {
        const { id } = await seenJobTemplate(exchange);
        return listJobs(exchange, (first) => ({ sql: `x.job_template_id = $${first}`, values: [id] }));
      },
    },
  });
  serveEndpoint(app, service, {
    path: '/api/v2/jobs/:id(^\\d+$)/',
    name: 'Job',
    description: 'One job with its status. DELETE removes it with its output, once it has finished.',
    fields: jobFields,
    handlers: {
      GET: async (exchange) => jobJson(await seenJob(exchange), exchange),
      DELETE: remove,
    },
  });
  serveEndpoint(app, service, {
    path: '/api/v2/jobs/:id(^\\d+$)/cancel/',
    name: 'Cancel a job',
    description: 'GET says whether the job can be canceled. POST cancels it.',
    handlers: {
      GET: async (exchange) => ({ can_cancel: isActive(await seenJob(exchange)) }),
      POST: cancel,
    },
  });
}

function listJobs(
  exchange: Exchange,
  condition: (first: number) => Condition = () => ({ sql: 'TRUE', values: [] }),
): Promise<unknown> {
  return list<JobRecord>(exchange, {
    fields: jobFields,
    columns: JOB_COLUMNS,
    from: JOB_FROM,
    visible: allOf(visibleByOrganization(exchange.caller.user, 'x.organization_id'), condition),
    render: (job) => jobJson(job, exchange),
  });
}

/** The job that the path names. Throws 404, or 403 if the caller may not see it. */
async function seenJob({ service, caller, params }: Exchange): Promise<JobRecord> {
  const job = await findJob(service.database, pathId(params['id']));
  if (job === null) throw notFound();
  const { user } = caller;
  const { organization_id: organization } = job;
  const seen = organization !== null && [...user.admin_of, ...user.auditor_of].includes(organization);
  if (!canSeeEverything(user) && !seen) throw forbidden();
  return job;
}

function isActive({ status }: JobRecord): boolean {
  return status === 'pending' || status === 'running';
}

/** 202: the job ends soon. 405 for a finished job, as on the controller. */
async function cancel(exchange: Exchange): Promise<unknown> {
  const { service, caller, reply } = exchange;
  const job = await seenJob(exchange);
  if (!administersOrganization(caller.user, job.organization_id)) throw forbidden();
  if (!(await cancelJob(service.database, { id: job.id, at: service.now() }))) {
    throw new RequestFailure(405, { detail: 'The job has already finished.' });
  }
  await service.jobs.look();
  return reply.code(202).send({});
}

async function remove(exchange: Exchange): Promise<undefined> {
  const { service, caller } = exchange;
  const job = await seenJob(exchange);
  if (!administersOrganization(caller.user, job.organization_id)) throw forbidden();
  await service.database.transaction(async (transaction) => {
    if (!(await deleteJob(transaction, job.id))) {
      throw forbidden('Cannot delete running job resource.');
    }
    const { id, name, playbook, limit } = job;
    const changes = { id, name, playbook, limit };
    await logChange(exchange, transaction, { operation: 'delete', object1: 'job', changes });
  });
}

const name = { type: 'string', label: 'Name' } as const;
const STATUSES = ['pending', 'running', 'successful', 'failed', 'error', 'canceled'];

/** The fields of a job. All are read-only: launching a template creates a job. */
const jobFields: FieldSet = {
  type: 'job',
  fields: {
    ...leadingFields({
      type: 'job',
      name: 'job',
      alias: 'x',
      summary: 'Related resources, and what you may do with the job.',
    }),
    name: { ...name, column: 'x.name' },
    description: { type: 'string', label: 'Description', column: 'x.description' },
    launch_type: { type: 'choice', label: 'Launch type', choices: [['manual', 'Manual']] },
    status: {
      type: 'choice',
      label: 'Status',
      column: 'x.status',
      choices: STATUSES.map((status) => [status, `${status[0]?.toUpperCase()}${status.slice(1)}`]),
    },
    failed: {
      type: 'boolean',
      label: 'Failed',
      column: "(x.status IN ('failed', 'error', 'canceled'))",
    },
    started: { type: 'datetime', label: 'Started', column: 'x.started' },
    finished: { type: 'datetime', label: 'Finished', column: 'x.finished' },
    elapsed: { type: 'integer', label: 'Elapsed', helpText: 'Run time in seconds.' },
    job_explanation: { type: 'string', label: 'Explanation', column: 'x.job_explanation' },
    execution_node: { type: 'string', label: 'Execution node', column: 'x.execution_node' },
    event_processing_finished: { type: 'boolean', label: 'Events are complete' },
    job_type: { type: 'choice', label: 'Job type', choices: [['run', 'Run']] },
    playbook: { type: 'string', label: 'Playbook', column: 'x.playbook' },
    limit: { type: 'string', label: 'Limit', column: 'x."limit"' },
    job_template: { type: 'id', label: 'Job template', column: 'x.job_template_id' },
    inventory: { type: 'id', label: 'Inventory', column: 'x.inventory_id' },
    project: { type: 'id', label: 'Project', column: 'x.project_id' },
    organization: { type: 'id', label: 'Organization', column: 'x.organization_id' },
    created_by: { type: 'id', label: 'Created by', column: 'x.created_by_id', hidden: true },
  },
  relations: {
    job_template: { searchFields: ['name'], fields: { name: { ...name, column: 'j.name' } } },
    organization: { searchFields: ['name'], fields: { name: { ...name, column: 'o.name' } } },
    inventory: { searchFields: ['name'], fields: { name: { ...name, column: 'i.name' } } },
    project: { searchFields: ['name'], fields: { name: { ...name, column: 'p.name' } } },
    created_by: {
      searchFields: ['username'],
      fields: {
        id: { type: 'integer', label: 'ID', column: 'x.created_by_id' },
        username: { type: 'string', label: 'Username', column: 'u.username' },
      },
    },
    unified_job_template: {
      searchFields: [],
      fields: { id: { type: 'integer', label: 'ID', column: 'x.job_template_id' } },
    },
    // There are no schedules.
    schedule: { searchFields: [], fields: { id: { type: 'integer', label: 'ID', column: 'NULL::integer' } } },
  },
  searchFields: ['name', 'description'],
  order: ['id'],
};

/** A job as the API shows it to a caller. */
/** A job as the controller shows it. */
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
      job_events: `${url}job_events/`,
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
      user_capabilities: { start: may, delete: may },
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
    event_processing_finished: !isActive(job),
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

/** `/api/v2/jobs/N/stdout/` and `job_events/`. */
export function serveJobOutput(app: FastifyInstance, service: ServiceContext): void {
  serveEndpoint(app, service, {
    path: '/api/v2/jobs/:id(^\\d+$)/stdout/',
    name: 'Output of a job',
    formats: 'own',
    description: 'The output so far. `format` is txt, txt_download, ansi, ansi_download, json or html.',
    handlers: { GET: show },
  });
  serveEndpoint(app, service, {
    path: '/api/v2/jobs/:id(^\\d+$)/job_events/',
    name: 'Events of a job',
    description: 'The output so far as one event, from the line `start_line__gte` on.',
    handlers: { GET: listEvents },
  });
}

/** The parameters of a list of events that change nothing here: there is one event, with the whole text. */
const IGNORED_EVENT_FILTERS = ['order_by', 'no_truncate', 'page_size', 'format'];

/**
 * The output as the controller's job events, which the awx CLI reads to follow a job (`--monitor`, `--wait`): one event with
 * the complete lines from `start_line__gte` on; the last line counts as complete once the job has finished.
 */
async function listEvents(exchange: Exchange): Promise<unknown> {
  const { service, request } = exchange;
  const job = await seenJob(exchange);
  const query = new URLSearchParams(parseTarget(request.url).query);
  const unknown = [...query.keys()].find(
    (key) => key !== 'start_line__gte' && !IGNORED_EVENT_FILTERS.includes(key),
  );
  if (unknown !== undefined) throw badRequest(`Events of a job cannot be filtered by ${unknown}.`);
  const given = query.get('start_line__gte') ?? '0';
  if (!/^\d{1,9}$/.test(given)) throw badRequest('start_line__gte: expected a number.');
  const lines = (await readOutput(service.database, job.id)).split('\n');
  // What follows the last line break: nothing, or a line that is still being written.
  if (isActive(job) || lines.at(-1) === '') lines.pop();
  const start = Number(given);
  const results = start < lines.length ? [eventJson(job, { start, lines: lines.slice(start) })] : [];
  return { count: results.length, next: null, previous: null, results };
}

function eventJson(
  job: JobRecord,
  { start, lines }: { readonly start: number; readonly lines: readonly string[] },
): Record<string, unknown> {
  return {
    id: start + 1,
    type: 'job_event',
    related: { job: `/api/v2/jobs/${job.id}/` },
    created: job.modified,
    job: job.id,
    event: 'verbose',
    event_display: 'Verbose',
    counter: start + 1,
    failed: false,
    changed: false,
    stdout: lines.join('\n'),
    start_line: start,
    end_line: start + lines.length,
  };
}

/** Sends the output in one of the controller's formats. It has no colors, so `ansi` is the same as `txt`. */
async function show(exchange: Exchange): Promise<unknown> {
  const { service, request, reply } = exchange;
  const job = await seenJob(exchange);
  const format = new URLSearchParams(parseTarget(request.url).query).get('format') ?? formatFor(exchange);
  const content = await readOutput(service.database, job.id);
  const lines = content === '' ? 0 : content.split('\n').length;
  switch (format) {
    case 'json':
      return { range: { start: 0, end: lines, absolute_end: lines }, content };
    case 'txt':
    case 'ansi':
      return reply.type('text/plain; charset=utf-8').send(content);
    case 'txt_download':
    case 'ansi_download':
      reply.header('Content-Disposition', `attachment; filename="job_${job.id}.txt"`);
      return reply.type('text/plain; charset=utf-8').send(content);
    case 'html':
    case 'api':
      return reply
        .type('text/html; charset=utf-8')
        .header('Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'")
        .send(`<!doctype html><title>Job ${job.id}</title><pre>${escapeHtml(content)}</pre>`);
    default:
      throw badRequest('format: expected txt, txt_download, ansi, ansi_download, json or html.');
  }
}

function formatFor({ request }: Exchange): string {
  return (request.headers.accept ?? '').startsWith('text/plain') ? 'txt' : 'json';
}
