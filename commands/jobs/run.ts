import { string } from '@oclif/core/args';
import { boolean } from '@oclif/core/flags';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import type { Result } from '../../src/reports/tables/result.ts';

/** Runs a job now. */
export default class JobsRun extends TokenctlCommand {
  static override summary = 'Run a job now, in each of its contexts.';

  static override description =
    `Under the same claim as its ticks: it never runs beside one, in any replica. It does what the configuration \
says, without asking; one that is a dry run there is one here.

With --json each row has job, run, dryRun, state, seconds and summary. Exits as the failure of a run says.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> nightly-sweep --dry-run',
    '<%= config.bin %> <%= command.id %> nightly-sweep@production',
  ];

  static override args = {
    job: string({
      description: 'The job, alone or with @ and a context.',
      required: true,
      ignoreStdin: true,
    }),
  };

  static override flags = {
    'dry-run': boolean({ summary: 'Show what would be done, and do nothing.' }),
  };

  async run(): Promise<Result> {
    const { args, flags } = await this.input(JobsRun);
    const runtime = await this.runtime(flags);
    const { writeNotice: notify } = await import('../../src/cli/output/streams.ts');
    const { runManually } = await import('../../src/app/jobs/run-manually.ts');
    const { ranResult } = await import('../../src/cli/output/job-view.ts');
    const dryRun = flags['dry-run'] === true;
    return ranResult(
      await runManually({ runtime, name: args.job, dryRun, version: this.config.version, notify }),
    );
  }
}
