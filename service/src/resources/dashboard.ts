import { type Sql, sql } from '@tokenctl/common/db/sql.ts';
import { NEVER_DAYS } from '@tokenctl/common/token-terms.ts';
import type { FastifyInstance } from 'fastify';
import {
  type SharedType,
  visibleObjects,
  visibleOrganizations,
  visibleTeams,
  visibleTokens,
  visibleUsers,
} from '../access.ts';
import type { ServiceContext } from '../context.ts';
import { type Exchange, serveEndpoint } from '../endpoint.ts';
import { RequestFailure } from '../failure.ts';
import { lastValue } from '../listing/filters.ts';
import { parseTarget } from '../request.ts';
import { countEach, countFinishedJobs, countParts, failedInventories } from '../store/dashboard.ts';
import { heldRoles } from '../store/object-roles.ts';
import type { UserRecord } from '../store/users.ts';
import { visibleJobs } from './jobs/jobs.ts';

/** `/api/v2/dashboard/` and `/api/v2/dashboard/graphs/jobs/`. */
export function serveDashboard(app: FastifyInstance, service: ServiceContext): void {
  serveEndpoint(app, service, {
    path: '/api/v2/dashboard/',
    name: 'Dashboard',
    description:
      'The number of resources of each kind that you can see, with tokens by expiry and jobs by status.',
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
  const { user } = caller;
  const held = await heldRoles(service.database, user);
  const seen = (type: SharedType) =>
    visibleObjects(user, held, { type, id: sql`x.id`, organization: sql`x.organization_id` });
  const inventories = seen('inventory');
  const [counts, tokens, jobs] = await Promise.all([
    countEach(service.database, {
      inventories: { from: sql`main_inventory x`, visible: inventories },
      failed_inventories: failedInventories(inventories),
      hosts: { from: sql`main_host h JOIN main_inventory x ON x.id = h.inventory_id`, visible: inventories },
      projects: { from: sql`service_project x`, visible: seen('project') },
      users: { from: sql`auth_user u`, visible: visibleUsers(user) },
      organizations: { from: sql`main_organization x`, visible: visibleOrganizations(user) },
      teams: { from: sql`main_team x`, visible: visibleTeams(user) },
      credentials: { from: sql`main_credential x`, visible: seen('credential') },
      job_templates: { from: sql`service_job_template x`, visible: seen('job_template') },
    }),
    countTokens(service, user),
    countJobs(service, visibleJobs(user, held)),
  ]);
  const { failed_inventories: job_failed, ...totals } = counts;
  const lists = Object.entries(totals).map(([name, total]) => [
    name,
    { url: `/api/v2/${name}/`, total, ...(name === 'inventories' && { job_failed }) },
  ]);
  return {
    related: { jobs_graph: '/api/v2/dashboard/graphs/jobs/' },
    ...Object.fromEntries(lists),
    tokens,
    jobs,
  };
}

const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
const SOON_DAYS = 30;

/** The tokens by expiry, with links to their lists. Times are whole hours, so that a list stays the same. */
async function countTokens(service: ServiceContext, user: UserRecord): Promise<unknown> {
  const hour = Math.floor(service.now().getTime() / HOUR_MS) * HOUR_MS;
  const [now, soon, never] = [0, SOON_DAYS, NEVER_DAYS].map((days) =>
    new Date(hour + days * DAY_MS).toISOString(),
  );
  const from = sql`main_oauth2accesstoken t LEFT JOIN main_oauth2application a ON a.id = t.application_id`;
  const counts = await countParts(
    service.database,
    { from, visible: visibleTokens(user) },
    {
      expiring: sql`t.expires > ${now} AND t.expires < ${soon}`,
      never_expiring: sql`t.expires > ${never}`,
      never_used: sql`t.last_used IS NULL`,
      expired: sql`t.expires < ${now}`,
    },
  );
  const list = (part: Exclude<keyof typeof counts, 'total'>, filter: Readonly<Record<string, string>>) => ({
    url: `/api/v2/tokens/?${new URLSearchParams(filter)}`,
    total: counts[part],
  });
  return {
    url: '/api/v2/tokens/',
    total: counts.total,
    expiring: list('expiring', { expires__gt: now ?? '', expires__lt: soon ?? '' }),
    never_expiring: list('never_expiring', { expires__gt: never ?? '' }),
    never_used: list('never_used', { last_used__isnull: 'true' }),
    expired: list('expired', { expires__lt: now ?? '' }),
  };
}

/** The final statuses of jobs, in the order of the controller's graph. */
const ENDS = ['successful', 'failed', 'canceled', 'error'] as const;
const COUNTED_STATUSES = ['running', 'pending', ...ENDS] as const;

/** The jobs by status, which the controller does not count here. */
async function countJobs({ database }: ServiceContext, visible: Sql): Promise<unknown> {
  const parts = Object.fromEntries(COUNTED_STATUSES.map((status) => [status, sql`x.status = ${status}`]));
  const { total, ...counts } = await countParts(database, { from: sql`service_job x`, visible }, parts);
  const lists = Object.entries(counts).map(([status, count]) => [
    status,
    { url: `/api/v2/jobs/?status=${status}`, total: count },
  ]);
  return { url: '/api/v2/jobs/', total, ...Object.fromEntries(lists) };
}

async function showJobs({ service, caller, request }: Exchange): Promise<unknown> {
  const query = new URLSearchParams(parseTarget(request.url).query);
  const period = lastValue(query, 'period') ?? 'month';
  const now = service.now();
  const start = startOf(period, now);
  // The service has no updates of inventories or projects, which these types count on the controller.
  const isEmpty = ['inv_sync', 'scm_update'].includes(lastValue(query, 'job_type') ?? 'all');
  const visible = visibleJobs(caller.user, await heldRoles(service.database, caller.user));
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
  return { jobs: Object.fromEntries(ENDS.map((status) => [status, series(status)])) };
}

const PERIOD_DAYS = new Map([
  ['two_weeks', 14],
  ['week', 7],
  ['day', 1],
]);

/** The first day of a period that ends today, in UTC. Throws 400 for an unknown period. */
function startOf(period: string, now: Date): Date {
  const today = new Date(Math.floor(now.getTime() / DAY_MS) * DAY_MS);
  if (period === 'month') {
    const before = new Date(today);
    before.setUTCMonth(before.getUTCMonth() - 1);
    // If the previous month does not have this day, use its last one.
    if (before.getUTCDate() !== today.getUTCDate()) before.setUTCDate(0);
    return before;
  }
  const days = PERIOD_DAYS.get(period);
  if (days === undefined)
    throw new RequestFailure(400, { error: `Unknown period ${JSON.stringify(period)}` });
  return new Date(today.getTime() - days * DAY_MS);
}
