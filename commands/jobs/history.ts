import { option, string } from '@oclif/core/flags';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { count, csvFlag } from '../../src/cli/flags.ts';
import type { JobRunJson } from '../../src/cli/output/job-view.ts';
import type { Result } from '../../src/reports/result.ts';

/** The default number of runs. */
const LIMIT = 50;

export default class JobsHistory extends TokenctlCommand {
  static override summary = 'List the runs of jobs, newest first';

  static override description =
    `A "lost" run was killed, and another run took over its tick. "skipped" stands for missed ticks that were not \
run. Use jobs show to see what a run changed.

With --json, prints what docs/schemas/jobs-history.json describes.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> --job nightly-sweep',
    '<%= config.bin %> <%= command.id %> --state failed --limit 10 --json',
  ];

  static override flags = {
    job: string({ summary: 'Only runs of this job.', helpValue: 'NAME' }),
    state: option({
      summary: 'Only runs in this state; repeatable.',
      options: ['running', 'completed', 'failed', 'interrupted', 'lost', 'skipped'] as const,
      multiple: true,
    })(),
    limit: count({ summary: `Maximum number of runs; ${LIMIT} by default.`, helpValue: 'N' }),
    ...csvFlag,
  };

  async run(): Promise<Result<readonly JobRunJson[]>> {
    const { flags } = await this.input(JobsHistory);
    const runtime = await this.runtime(flags);
    const { jobHistory } = await import('../../src/app/jobs/inspect.ts');
    const { ledgerName } = await import('../../src/app/jobs/open-ledger.ts');
    const { runListing } = await import('../../src/cli/output/job-view.ts');
    const { job, state, limit = LIMIT } = flags;
    return runListing(
      await jobHistory(runtime, { limit, job, states: state }),
      ledgerName(runtime.configuration, runtime.environment),
    );
  }
}
