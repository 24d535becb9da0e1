/** The requests of the first view. The build puts them into the pages, so that browsers start them at once. */

export const ME = '/api/v2/me/';

export const TOTALS = '/api/v2/dashboard/';

/** The finished jobs per day of the last month. */
export const FINISHED_JOBS = '/api/v2/dashboard/graphs/jobs/?period=month';

export const LAST_CHANGES = '/api/v2/activity_stream/?order_by=-timestamp&page_size=6';

export const DASHBOARD_READS = [TOTALS, FINISHED_JOBS, LAST_CHANGES] as const;
