// The first script of the web interface: it begins the reads of the first view while the application is loaded.
import { readEarly } from '../shared/api.ts';
import { FINISHED_JOBS, LAST_CHANGES, TOTALS } from './dashboard-reads.ts';

readEarly('/api/v2/me/');
if (window.location.pathname === '/') {
  for (const path of [TOTALS, FINISHED_JOBS, LAST_CHANGES]) readEarly(path, { quiet: true });
}
