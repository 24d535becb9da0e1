import { type Sql, sql } from '@tokenctl/common/db/sql.ts';
import type { FastifyInstance } from 'fastify';
import { type AskedRole, administersOrganization, hasRole, visibleObjects } from '../../access.ts';
import type { ServiceContext } from '../../context.ts';
import { type Exchange, serveEndpoint } from '../../endpoint.ts';
import { forbidden, notFound, RequestFailure } from '../../failure.ts';
import { declared, type FieldSet, inWords } from '../../listing/fields.ts';
import { allOf, EVERY_ROW } from '../../listing/filters.ts';
import { list } from '../../listing/listing.ts';
import { OPTION_NAMES, pick } from '../../store/job-options.ts';
import { cancelJob, deleteJob, findJob, JOB_COLUMNS, JOB_FROM, type JobRecord } from '../../store/jobs.ts';
import { type HeldRole, heldRoles } from '../../store/object-roles.ts';
import type { UserRecord } from '../../store/users.ts';
import { knownRelation, PART_RELATIONS, seenPartsOfJobs } from '../part-relations.ts';
import { pathId } from '../request-values.ts';
import { leadingFields, logChange, personOf } from '../resource.ts';
import { ofSeen } from '../seen-resources.ts';
import { SHOWN_OPTIONS } from './job-options.ts';
import { JOB_TEMPLATE } from './job-templates.ts';

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
    description: 'The same as the jobs, because this service runs nothing else.',
    fields: jobFields,
    handlers: { GET: (exchange) => listJobs(exchange) },
  });
  serveEndpoint(app, service, {
    path: '/api/v2/job_templates/:id/jobs/',
    name: 'Jobs of a job template',
    description: 'The jobs that were launched from this job template.',
    fields: jobFields,
    handlers: {
      GET: ofSeen(JOB_TEMPLATE, (exchange, { id }) => listJobs(exchange, sql`x.job_template_id = ${id}`)),
    },
  });
  serveEndpoint(app, service, {
    path: '/api/v2/jobs/:id(^\\d+$)/',
    name: 'Job',
    description: 'One job with its status. DELETE removes a finished job and its output.',
    fields: jobFields,
    handlers: { GET: async (exchange) => shownJob(exchange, await seenJob(exchange)), DELETE: remove },
  });
  serveEndpoint(app, service, {
    path: '/api/v2/jobs/:id(^\\d+$)/cancel/',
    name: 'Cancel a job',
    description: 'GET shows whether the job can be canceled. POST cancels it.',
    handlers: { GET: async (exchange) => ({ can_cancel: isActive(await seenJob(exchange)) }), POST: cancel },
  });
}

async function listJobs(exchange: Exchange, condition = EVERY_ROW): Promise<unknown> {
  const { service, caller } = exchange;
  const held = await heldRoles(service.database, caller.user);
  return list<JobRecord>(exchange, {
    fields: jobFields,
    columns: JOB_COLUMNS,
    from: sql`${JOB_FROM} ${seenPartsOfJobs(caller.user, held)}`,
    visible: allOf(visibleJobs(caller.user, held), condition),
    render: (jobs) => jobs.map((job) => jobJson(job, exchange, held)),
  });
}

/** The jobs `x` that a user sees: those of organizations, and of job templates that the user may read. */
export function visibleJobs(user: UserRecord, held: readonly HeldRole[]): Sql {
  const rows = { id: sql`x.job_template_id`, organization: sql`x.organization_id` };
  return visibleObjects(user, held, { type: 'job_template', ...rows });
}

/** Whether the caller has a role on the job template of a job. */
export async function mayOnJob(
  { service, caller }: Exchange,
  job: JobRecord,
  role: AskedRole['role'],
): Promise<boolean> {
  return hasRole(caller.user, await heldRoles(service.database, caller.user), asked(job, role));
}

function asked({ job_template_id, organization_id }: JobRecord, role: AskedRole['role']): AskedRole {
  return { type: 'job_template', id: job_template_id ?? 0, organization: organization_id, role };
}

/** The job in the path. Throws 404, or 403 if the caller may not see it. */
export async function seenJob(exchange: Exchange): Promise<JobRecord> {
  const job = await findJob(exchange.service.database, pathId(exchange.params['id']));
  if (job === null) throw notFound();
  if (!(await mayOnJob(exchange, job, 'read'))) throw forbidden();
  return job;
}

export function isActive({ status }: JobRecord): boolean {
  return status === 'pending' || status === 'running';
}

/** Answers 202: the job ends soon. Throws 405 for a finished job, as on the controller. */
async function cancel(exchange: Exchange): Promise<unknown> {
  const { service, caller, reply } = exchange;
  const job = await seenJob(exchange);
  const isOwn = job.created_by_id === caller.user.id;
  if (!isOwn && !(await mayOnJob(exchange, job, 'admin'))) throw forbidden();
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
    if (!(await deleteJob(transaction, job.id))) throw forbidden('Cannot delete running job resource.');
    const { id, name, playbook, limit } = job;
    const changes = { id, name, playbook, limit };
    await logChange(exchange, transaction, { operation: 'delete', object1: 'job', changes });
  });
}

const STATUSES = ['pending', 'running', 'successful', 'failed', 'error', 'canceled'];

/** The fields of a job. All are read-only: launching a template creates a job. */
const jobFields: FieldSet = {
  type: 'job',
  fields: {
    ...leadingFields({
      type: 'job',
      name: 'job',
      alias: 'x',
      summary: 'Related resources, and your permissions on the job.',
    }),
    ...declared('x', {
      name: {},
      description: {},
      launch_type: {
        type: 'choice',
        choices: [
          ['manual', 'Manual'],
          ['relaunch', 'Relaunch'],
        ],
      },
      status: { type: 'choice', choices: STATUSES.map((status) => [status, inWords(status)]) },
      failed: { type: 'boolean', column: sql`(x.status IN ('failed', 'error', 'canceled'))` },
      started: { type: 'datetime' },
      finished: { type: 'datetime' },
      elapsed: { type: 'integer', helpText: 'Run time in seconds.', column: null },
      job_explanation: { label: 'Explanation' },
      execution_node: {},
      event_processing_finished: { type: 'boolean', label: 'Events are complete', column: null },
      playbook: {},
    }),
    ...SHOWN_OPTIONS,
    ...declared('x', {
      job_template: { type: 'id' },
      inventory: { type: 'id' },
      project: { type: 'id' },
      organization: { type: 'id' },
      created_by: { type: 'id', hidden: true },
    }),
  },
  relations: {
    ...PART_RELATIONS,
    job_template: knownRelation('j', {
      alias: 'gj',
      relations: {
        organization: knownRelation('gjo'),
        inventory: knownRelation('gji'),
        project: knownRelation('gjp'),
      },
    }),
    created_by: {
      searchFields: ['username'],
      fields: declared('u', {
        id: { type: 'integer', label: 'ID', column: sql`x.created_by_id` },
        username: {},
      }),
    },
    unified_job_template: knownRelation('j'),
    // There are no schedules.
    schedule: {
      searchFields: [],
      fields: { id: { type: 'integer', label: 'ID', column: sql`NULL::integer` } },
    },
  },
  searchFields: ['name', 'description'],
  order: ['id'],
};

export async function shownJob(exchange: Exchange, job: JobRecord): Promise<Record<string, unknown>> {
  const { service, caller } = exchange;
  return jobJson(job, exchange, await heldRoles(service.database, caller.user));
}

function jobJson(job: JobRecord, { service, caller }: Exchange, held: readonly HeldRole[]) {
  const { id, organization_id, inventory_id, project_id, job_template_id, created_by_id } = job;
  const url = `/api/v2/jobs/${id}/`;
  const { status, started, finished } = job;
  const start = caller.mayWrite && hasRole(caller.user, held, asked(job, 'execute'));
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
      relaunch: `${url}relaunch/`,
    },
    summary_fields: {
      ...named('organization', { id: organization_id, name: job.organization_name }),
      ...named('inventory', { id: inventory_id, name: job.inventory_name }),
      ...named('project', { id: project_id, name: job.project_name }),
      ...named('job_template', { id: job_template_id, name: job.job_template_name }),
      ...(created_by_id !== null && { created_by: personOf(job, 'created_by') }),
      user_capabilities: { start, delete: may },
    },
    ...pick(job, ['created', 'modified', 'name', 'description'] as const),
    unified_job_template: job_template_id,
    launch_type: job.launch_type,
    status,
    failed,
    started,
    finished,
    canceled_on: status === 'canceled' ? finished : null,
    elapsed: started === null ? 0 : elapsed(started, finished ?? service.now()),
    job_explanation: job.job_explanation,
    execution_node: job.execution_node,
    event_processing_finished: !isActive(job),
    inventory: inventory_id,
    project: project_id,
    playbook: job.playbook,
    ...pick(job, OPTION_NAMES),
    passwords_needed_to_start: [],
    organization: organization_id,
    job_template: job_template_id,
  };
}

/** A related resource as `summary_fields` shows it; empty if there is none. */
function named(relation: string, { id, name }: { id: number | null; name: string | null }) {
  return id === null ? {} : { [relation]: { id, name } };
}

/** In seconds, to the millisecond. */
function elapsed(from: Date, to: Date): number {
  return Math.max(0, (to.getTime() - from.getTime()) / 1000);
}
