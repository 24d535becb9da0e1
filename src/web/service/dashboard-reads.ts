/** What the dashboard reads: known before the application is loaded, so that the reads can begin first. */

/** How many there are of what. */
export const TOTALS = '/api/v2/dashboard/';

/** How many jobs finished on each day of the last month. */
export const FINISHED_JOBS = '/api/v2/dashboard/graphs/jobs/?period=month';

/** The last changes. */
export const LAST_CHANGES = '/api/v2/activity_stream/?order_by=-timestamp&page_size=6';
