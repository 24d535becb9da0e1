// Starts the reads of the first view before the application is loaded.
import { readEarly } from '@tokenctl/common/web/api.ts';
import { DASHBOARD_READS, ME } from './first-reads.ts';

readEarly(ME);
if (window.location.pathname === '/') {
  for (const path of DASHBOARD_READS) readEarly(path, { quiet: true });
}
