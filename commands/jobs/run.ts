import { boolean } from '@oclif/core/flags';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { requiredArgument } from '../../src/cli/flags.ts';
import type { RanJobJson } from '../../src/cli/output/job-view.ts';
import type { Result } from '../../src/reports/result.ts';

export default class JobsRun extends TokenctlCommand {
  static override summary = 'Run a job now, in each of its contexts';

  static override description =
    `Never runs at the same time as a scheduled run of the job, in any replica. Does what the configuration says, \
without confirmation; a job with dryRun: true stays a dry run. With --context (a context, a list or a group) it \
runs only in those of the job's contexts.

With --json, prints what docs/schemas/jobs-run.json describes.

If a run fails, exits with the code of its error.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> nightly-sweep --dry-run',
    '<%= config.bin %> <%= command.id %> nightly-sweep@production',
  ];

  static override args = {
    job: requiredArgument('NAME, or NAME@CONTEXT.'),
  };

  static override flags = {
    'dry-run': boolean({ summary: 'Show what would be done, and change nothing.' }),
  };

  async run(): Promise<Result<readonly RanJobJson[]>> {
    const { args, flags } = await this.input(JobsRun);
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
  }
}
