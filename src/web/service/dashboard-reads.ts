/** What the dashboard reads: known before its page is loaded, so that the reads can begin first. */
import { withQuery } from '../shared/api.ts';

/** A number of the dashboard: how many there are in a collection, and the page that lists them. */
export interface CountedList {
  readonly name: string;
  readonly collection: string;
  readonly page: string;
  readonly filter: Readonly<Record<string, string>>;
}

const HOUR_MS = 3_600_000;
const NEVER_DAYS = 36_525;

/** A time that many days from now, in whole hours, so that the same question is asked again. */
function inDays(days: number): string {
  return new Date((Math.floor(Date.now() / HOUR_MS) + days * 24) * HOUR_MS).toISOString();
}

/** The tokens that are counted. */
export function countedTokens(): readonly CountedList[] {
  const lists = {
    'Expire in 30 days': { expires__gt: inDays(0), expires__lt: inDays(30) },
    'Never expire': { expires__gt: inDays(NEVER_DAYS) },
    'Never used': { last_used__isnull: 'true' },
    Expired: { expires__lt: inDays(0) },
  };
  return Object.entries(lists).map(([name, filter]) => ({
    name,
    collection: '/api/v2/tokens/',
    page: '/tokens',
    filter,
  }));
}

/** The jobs that are counted. */
export const COUNTED_JOBS: readonly CountedList[] = [
  ['running', 'Running'] as const,
  ['pending', 'Pending'] as const,
  ['successful', 'Successful'] as const,
  ['failed', 'Failed'] as const,
].map(([status, name]) => ({ name, collection: '/api/v2/jobs/', page: '/jobs', filter: { status } }));

/** The path that counts a list. */
export function countPath({ collection, filter }: CountedList): string {
  return withQuery(collection, { page_size: 1, ...filter });
}

/** How many resources of each kind there are. */
export const TOTALS = '/api/v2/dashboard/';

/** How many jobs finished on each day of the last month. */
export const FINISHED_JOBS = '/api/v2/dashboard/graphs/jobs/?period=month';

/** The last changes. */
export const LAST_CHANGES = '/api/v2/activity_stream/?order_by=-timestamp&page_size=6';

/** All paths that the dashboard reads, those of its first lines first. */
export function dashboardReads(): readonly string[] {
  const counted = [...countedTokens(), ...COUNTED_JOBS];
  return [TOTALS, ...counted.map(countPath), FINISHED_JOBS, LAST_CHANGES];
}
