/**
 * What the first view reads, known without the application: the build names it in the pages themselves, so that browsers
 * begin to read while the application is loaded.
 */

/** Who is logged in. */
export const ME = '/api/v2/me/';

/** How many there are of what. */
export const TOTALS = '/api/v2/dashboard/';

/** How many jobs finished on each day of the last month. */
export const FINISHED_JOBS = '/api/v2/dashboard/graphs/jobs/?period=month';

/** The last changes. */
export const LAST_CHANGES = '/api/v2/activity_stream/?order_by=-timestamp&page_size=6';

/** What the dashboard reads. */
export const DASHBOARD_READS = [TOTALS, FINISHED_JOBS, LAST_CHANGES] as const;
