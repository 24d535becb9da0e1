import type { FastifyInstance } from 'fastify';
import { visibleByOrganization, visibleOrganizations, visibleUsers } from '../access.ts';
import type { ServiceContext } from '../context.ts';
import { type Exchange, serveEndpoint } from '../endpoint.ts';
import { RequestFailure } from '../failure.ts';
import type { Condition } from '../listing/filters.ts';
import { lastValue } from '../listing/filters.ts';
import { parseTarget } from '../request.ts';
import { countFailedInventories, countFinishedJobs, countRows } from '../store/dashboard.ts';

/** `/api/v2/dashboard/` and `/api/v2/dashboard/graphs/jobs/`. */
export function serveDashboard(app: FastifyInstance, service: ServiceContext): void {
  serveEndpoint(app, service, {
    path: '/api/v2/dashboard/',
    name: 'Dashboard',
    description: 'How many resources of each kind you can see.',
    handlers: { GET: show },
  });
  serveEndpoint(app, service, {
    path: '/api/v2/dashboard/graphs/jobs/',
    name: 'Jobs of the dashboard',
    description:
      'The finished jobs by status and day (UTC), as [seconds since 1970, number]. `period` is month, two_weeks, week or day.',
    handlers: { GET: showJobs },
  });
}

async function show({ service, caller }: Exchange): Promise<unknown> {
  const { database } = service;
  const { user } = caller;
  const owned = visibleByOrganization(user, 'x.organization_id');
  const count = (from: string, visible: Condition) => countRows(database, from, visible);
  const [inventories, failedInventories, hosts, projects, users, organizations, credentials, templates] =
    await Promise.all([
      count('main_inventory x', owned),
      countFailedInventories(database, owned),
      count('main_host h JOIN main_inventory x ON x.id = h.inventory_id', owned),
      count('service_project x', owned),
      count('auth_user u', visibleUsers(user)),
      count('main_organization o', visibleOrganizations(user)),
      count('main_credential x', owned),
      count('service_job_template x', owned),
    ]);
  const total = (name: string, number: number) => ({ url: `/api/v2/${name}/`, total: number });
  return {
    related: { jobs_graph: '/api/v2/dashboard/graphs/jobs/' },
    inventories: { ...total('inventories', inventories), job_failed: failedInventories },
    hosts: total('hosts', hosts),
    projects: total('projects', projects),
    users: total('users', users),
    organizations: total('organizations', organizations),
    teams: total('teams', 0),
    credentials: total('credentials', credentials),
    job_templates: total('job_templates', templates),
  };
}

const DAY_MS = 86_400_000;
const STATUSES = ['successful', 'failed', 'canceled', 'error'] as const;

async function showJobs({ service, caller, request }: Exchange): Promise<unknown> {
  const query = new URLSearchParams(parseTarget(request.url).query);
  const period = lastValue(query, 'period') ?? 'month';
  const now = service.now();
  const start = startOf(period, now);
  // The service has no updates of inventories or projects, which the controller counts for these types.
  const isEmpty = ['inv_sync', 'scm_update'].includes(lastValue(query, 'job_type') ?? 'all');
  const visible = visibleByOrganization(caller.user, 'x.organization_id');
  const counts = isEmpty ? [] : await countFinishedJobs(service.database, { visible, since: start });
  const days = Array.from(
    { length: Math.floor((now.getTime() - start.getTime()) / DAY_MS) + 1 },
    (_, day) => start.getTime() + day * DAY_MS,
  );
  const series = (status: string) =>
    days.map((day) => {
      const found = counts.find((each) => each.status === status && each.day.getTime() === day);
      return [day / 1000, found?.count ?? 0];
    });
  return { jobs: Object.fromEntries(STATUSES.map((status) => [status, series(status)])) };
}

/** The first day of a period that ends today, in UTC. Throws 400 for an unknown period. */
function startOf(period: string, now: Date): Date {
  const today = new Date(Math.floor(now.getTime() / DAY_MS) * DAY_MS);
  switch (period) {
    case 'month': {
      const before = new Date(today);
      before.setUTCMonth(before.getUTCMonth() - 1);
      // A day that the month before does not have: its last one.
      if (before.getUTCDate() !== today.getUTCDate()) before.setUTCDate(0);
      return before;
    }
    case 'two_weeks':
      return new Date(today.getTime() - 14 * DAY_MS);
    case 'week':
      return new Date(today.getTime() - 7 * DAY_MS);
    case 'day':
      return new Date(today.getTime() - DAY_MS);
    default:
      throw new RequestFailure(400, { error: `Unknown period ${JSON.stringify(period)}` });
  }
}
