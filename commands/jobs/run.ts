import { boolean } from '@oclif/core/flags';
import { defineCommand } from '../../src/cli/base-command.ts';
import { requiredArgument } from '../../src/cli/flags/flags.ts';

export default defineCommand({
  summary: 'Run a job now in all of its contexts',
  description: `Never runs at the same time as a scheduled run of the same job on any replica. Does what the \
configuration says without asking for confirmation. A job with dryRun: true stays a dry run. With --context \
(a context, a list or a group), runs only in those of the job's contexts.`,
  exitCodes: 'If a run fails, exits with the code of its error.',
  examples: ['nightly-sweep --dry-run', 'nightly-sweep@production'],
  args: { job: requiredArgument('NAME, or NAME@CONTEXT.') },
  flags: { 'dry-run': boolean({ summary: 'Show what would be done without changing anything.' }) },
  async run({ args, flags }) {
    const runtime = await this.runtime(flags);
    const { writeNotice: notify } = await import('../../src/cli/output/streams.ts');
    const { runManually } = await import('../../src/app/jobs/run-manually.ts');
    const { ranResult } = await import('../../src/cli/output/job-view.ts');
    const dryRun = flags['dry-run'] === true;
    return ranResult(
      await runManually({
        runtime,
        name: args.job,
        dryRun,
        version: this.config.version,
        notify,
        within: flags.context,
      }),
    );
  },
});
