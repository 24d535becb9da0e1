import { option, string } from '@oclif/core/flags';
import { defineCommand } from '../../src/cli/base-command.ts';
import { count, csvFlag } from '../../src/cli/flags/flags.ts';

const LIMIT = 50;

export default defineCommand({
  summary: 'List the runs of jobs, newest first',
  description: `A "lost" run was killed, and another run took over. "skipped" means that due times were \
missed and not made up for. Use jobs show to see what a run changed.`,
  examples: ['--job nightly-sweep', '--state failed --limit 10 --json'],
  flags: {
    job: string({ summary: 'Only runs of this job.', helpValue: 'NAME' }),
    state: option({
      summary: 'Only runs in this state (repeatable).',
      options: ['running', 'completed', 'failed', 'interrupted', 'lost', 'skipped'] as const,
      multiple: true,
    })(),
    limit: count({ summary: `Maximum number of runs; ${LIMIT} by default.`, helpValue: 'N' }),
    ...csvFlag,
  },
  async run({ flags }) {
    const runtime = await this.runtime(flags);
    const { jobHistory } = await import('../../src/app/jobs/inspect.ts');
    const { ledgerName } = await import('../../src/app/jobs/open-ledger.ts');
    const { runListing } = await import('../../src/cli/output/job-view.ts');
    const { job, state, limit = LIMIT } = flags;
    return runListing(
      await jobHistory(runtime, { limit, job, states: state }),
      ledgerName(runtime.configuration, runtime.environment),
    );
  },
});
