import { TokenctlCommand } from '../../src/cli/base-command.ts';
import type { Result } from '../../src/reports/tables/result.ts';

/** Checks the jobs of the configuration. */
export default class JobsCheck extends TokenctlCommand {
  static override summary = 'Check that the jobs of the configuration can be selectJobs.';

  static override description =
    `Looks at schedules, time zones, contexts, rules and recipients, and connects to nothing. Exits with 2 where \
a job cannot be run.

With --json each row has job, dryRun, problem and hint.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --config ./tokenctl.yaml',
  ];

  async run(): Promise<Result> {
    const { flags } = await this.input(JobsCheck);
    const runtime = await this.runtime(flags);
    const { checkedJobs } = await import('../../src/app/jobs/scheduled-jobs.ts');
    const { jobCheckResult } = await import('../../src/cli/output/job-view.ts');
    return jobCheckResult(checkedJobs(runtime.configuration));
  }
}
