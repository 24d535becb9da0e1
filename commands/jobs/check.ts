import { TokenctlCommand } from '../../src/cli/base-command.ts';
import type { CheckedJobJson } from '../../src/cli/output/job-view.ts';
import type { Result } from '../../src/reports/result.ts';

export default class JobsCheck extends TokenctlCommand {
  static override summary = 'Validate the configured jobs';

  static override description =
    `Checks schedules, time zones, contexts, rules and recipients without connecting to anything. Exits with 2 if a \
job is invalid. Warns of credentials that cannot be read here.

With --json, prints what docs/schemas/jobs-check.json describes.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --config ./tokenctl.yaml',
  ];

  async run(): Promise<Result<readonly CheckedJobJson[]>> {
    const { flags } = await this.input(JobsCheck);
    const runtime = await this.runtime(flags);
    const { checkedJobs, unprotectedLog, unreadableCredentials } = await import(
      '../../src/app/jobs/scheduled-jobs.ts'
    );
    const { jobCheckResult } = await import('../../src/cli/output/job-view.ts');
    const { configuration, environment } = runtime;
    const unprotected = unprotectedLog(configuration);
    const warnings = unreadableCredentials(configuration, environment);
    return jobCheckResult(
      checkedJobs(configuration),
      unprotected === null ? warnings : [...warnings, unprotected],
    );
  }
}
