import { defineCommand } from '../../src/cli/base-command.ts';

export default defineCommand({
  summary: 'Validate the configured jobs',
  description: `Checks schedules, time zones, contexts, directories, rules and recipients without connecting \
to anything. Exits with 2 if a job is invalid. Warns about credentials that cannot be read and files that \
cannot be written.`,
  examples: ['', '--config ./tokenctl.yaml'],
  async run({ flags }) {
    const runtime = await this.runtime(flags);
    const { checkedJobs, unprotectedLog, unreadableCredentials, unwritableFiles } = await import(
      '../../src/app/jobs/scheduled-jobs.ts'
    );
    const { jobCheckResult } = await import('../../src/cli/output/job-view.ts');
    const { configuration, environment } = runtime;
    const unprotected = unprotectedLog(configuration);
    const warnings = [
      ...unreadableCredentials(configuration, environment),
      ...unwritableFiles(configuration, environment),
    ];
    return jobCheckResult(checkedJobs(configuration), {
      file: configuration.file ?? null,
      warnings: unprotected === null ? warnings : [...warnings, unprotected],
    });
  },
});
