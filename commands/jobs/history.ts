import { option, string } from '@oclif/core/flags';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { count, csvFlag } from '../../src/cli/flags.ts';
import type { Result } from '../../src/reports/tables/result.ts';

/** How many runs are listed unless it is said. */
const LIMIT = 50;

/** Lists the runs of jobs. */
export default class JobsHistory extends TokenctlCommand {
  static override summary = 'List the runs of jobs, the newest first.';

  static override description =
    `A run that is "lost" was killed, and its tick was taken over by another; one that is "passed_over" stands for \
missed ticks that were not run. What a run did is in the audit log: jobs show has it.

With --json each row has run, job, due, kind, attempt, holder, state, began, ended and summary.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> --job nightly-sweep',
    '<%= config.bin %> <%= command.id %> --state failed --limit 10 --json',
  ];

  static override flags = {
    job: string({ summary: 'Only runs of this job.', helpValue: 'NAME' }),
    state: option({
      summary: 'Only runs in this state; may be given several times.',
      options: ['running', 'completed', 'failed', 'interrupted', 'lost', 'skipped'] as const,
      multiple: true,
    })(),
    limit: count({ summary: `Only that many; ${LIMIT} unless given.`, helpValue: 'N' }),
    ...csvFlag,
  };

  async run(): Promise<Result> {
    const { flags } = await this.input(JobsHistory);
    const runtime = await this.runtime(flags);
    const { jobHistory } = await import('../../src/app/jobs/inspect.ts');
    const { runListing } = await import('../../src/cli/output/job-view.ts');
    const { job, state, limit = LIMIT } = flags;
    return runListing(
      await jobHistory(runtime, {
        limit,
        ...(job !== undefined && { job }),
        ...(state !== undefined && { states: state }),
      }),
    );
  }
}
