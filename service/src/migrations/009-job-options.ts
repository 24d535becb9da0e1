import type { Migration } from '@tokenctl/common/db/migrate.ts';

/** Options of a job, with the controller's names, and which of them a launch may override for a job template. */
export const jobOptions: Migration = {
  number: 9,
  name: 'job-options',
  sql: `
ALTER TABLE service_job_template
  ADD COLUMN job_type varchar(64) NOT NULL DEFAULT 'run' CHECK (job_type IN ('run', 'check')),
  ADD COLUMN forks integer NOT NULL DEFAULT 0,
  ADD COLUMN verbosity integer NOT NULL DEFAULT 0,
  ADD COLUMN extra_vars text NOT NULL DEFAULT '',
  ADD COLUMN job_tags text NOT NULL DEFAULT '',
  ADD COLUMN skip_tags text NOT NULL DEFAULT '',
  ADD COLUMN start_at_task text NOT NULL DEFAULT '',
  ADD COLUMN force_handlers boolean NOT NULL DEFAULT false,
  ADD COLUMN become_enabled boolean NOT NULL DEFAULT false,
  ADD COLUMN diff_mode boolean NOT NULL DEFAULT false,
  ADD COLUMN timeout integer NOT NULL DEFAULT 0,
  ADD COLUMN ask_job_type_on_launch boolean NOT NULL DEFAULT false,
  ADD COLUMN ask_inventory_on_launch boolean NOT NULL DEFAULT false,
  ADD COLUMN ask_forks_on_launch boolean NOT NULL DEFAULT false,
  ADD COLUMN ask_verbosity_on_launch boolean NOT NULL DEFAULT false,
  ADD COLUMN ask_variables_on_launch boolean NOT NULL DEFAULT false,
  ADD COLUMN ask_tags_on_launch boolean NOT NULL DEFAULT false,
  ADD COLUMN ask_skip_tags_on_launch boolean NOT NULL DEFAULT false,
  ADD COLUMN ask_diff_mode_on_launch boolean NOT NULL DEFAULT false,
  ADD COLUMN ask_timeout_on_launch boolean NOT NULL DEFAULT false;

ALTER TABLE service_job
  ADD COLUMN launch_type varchar(20) NOT NULL DEFAULT 'manual',
  ADD COLUMN job_type varchar(64) NOT NULL DEFAULT 'run' CHECK (job_type IN ('run', 'check')),
  ADD COLUMN forks integer NOT NULL DEFAULT 0,
  ADD COLUMN verbosity integer NOT NULL DEFAULT 0,
  ADD COLUMN extra_vars text NOT NULL DEFAULT '{}',
  ADD COLUMN job_tags text NOT NULL DEFAULT '',
  ADD COLUMN skip_tags text NOT NULL DEFAULT '',
  ADD COLUMN start_at_task text NOT NULL DEFAULT '',
  ADD COLUMN force_handlers boolean NOT NULL DEFAULT false,
  ADD COLUMN become_enabled boolean NOT NULL DEFAULT false,
  ADD COLUMN diff_mode boolean NOT NULL DEFAULT false,
  ADD COLUMN timeout integer NOT NULL DEFAULT 0;
`,
};
