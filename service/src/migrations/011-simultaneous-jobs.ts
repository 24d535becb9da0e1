import type { Migration } from '@tokenctl/common/db/migrate.ts';

/** Whether several jobs of a template may run at the same time, as on the controller. */
export const simultaneousJobs: Migration = {
  number: 11,
  name: 'simultaneous-jobs',
  sql: `
ALTER TABLE service_job_template ADD COLUMN allow_simultaneous boolean NOT NULL DEFAULT false;
ALTER TABLE service_job ADD COLUMN allow_simultaneous boolean NOT NULL DEFAULT false;
`,
};
