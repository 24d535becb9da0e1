import type { FastifyInstance } from 'fastify';
import { administersOrganization, seesEverything, visibleByOrganization } from '../access.ts';
import type { ServiceContext } from '../context.ts';
import { type Exchange, serveEndpoint } from '../endpoint.ts';
import { forbidden, notFound, RequestFailure } from '../failure.ts';
import { list } from '../listing/listing.ts';
import { cancelJob, findJob, JOB_COLUMNS, JOB_FROM, type JobRecord } from '../store/jobs.ts';
import { jobFields } from './job-fields.ts';
import { jobJson } from './job-json.ts';
import { pathId } from './path-id.ts';

/** `/api/v2/jobs/`, `/api/v2/jobs/N/` and its `cancel/`. */
export function serveJobs(app: FastifyInstance, service: ServiceContext): void {
  serveEndpoint(app, service, {
    path: '/api/v2/jobs/',
    name: 'Jobs',
    description: 'The jobs of the organizations that you administer or audit.',
    fields: jobFields,
    handlers: { GET: listJobs },
  });
  serveEndpoint(app, service, {
    path: '/api/v2/jobs/:id(^\\d+$)/',
    name: 'Job',
    description: 'One job: where it stands, and how it ended.',
    fields: jobFields,
    handlers: { GET: async (exchange) => jobJson(await seenJob(exchange), exchange) },
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

function listJobs(exchange: Exchange): Promise<unknown> {
  const { service, request, caller } = exchange;
  return list<JobRecord>(service.database, request.url, {
    fields: jobFields,
    columns: JOB_COLUMNS,
    from: JOB_FROM,
    visible: visibleByOrganization(caller.user, 'x.organization_id'),
    render: (job) => jobJson(job, exchange),
  });
}

/** The job that the path names, if the caller sees it. Throws 404 and 403. */
export async function seenJob({ service, caller, params }: Exchange): Promise<JobRecord> {
  const job = await findJob(service.database, pathId(params['id']));
  if (job === null) throw notFound();
  const { user } = caller;
  const { organization_id: organization } = job;
  const seen = organization !== null && [...user.admin_of, ...user.auditor_of].includes(organization);
  if (!seesEverything(user) && !seen) throw forbidden();
  return job;
}

function isActive({ status }: JobRecord): boolean {
  return status === 'pending' || status === 'running';
}

/** 202: the job ends soon. One that has ended already is 405, as on the controller. */
async function cancel(exchange: Exchange): Promise<unknown> {
  const { service, caller, reply } = exchange;
  const job = await seenJob(exchange);
  if (!administersOrganization(caller.user, job.organization_id)) throw forbidden();
  if (!(await cancelJob(service.database, { id: job.id, at: service.now() }))) {
    throw new RequestFailure(405, { detail: 'The job has ended: there is nothing to cancel.' });
  }
  await service.jobs.look();
  return reply.code(202).send({});
}
