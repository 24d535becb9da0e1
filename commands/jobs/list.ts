import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { csvFlag } from '../../src/cli/flags.ts';
import type { JobJson } from '../../src/cli/output/job-view.ts';
import type { Result } from '../../src/reports/result.ts';

export default class JobsList extends TokenctlCommand {
  static override summary = 'List jobs with schedules and last runs';

  static override description =
    `A job in mode "dry run" only reports what it would do; a "live" job changes its controller.

With --json, prints what docs/schemas/jobs-list.json describes.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --json',
  ];

  static override flags = { ...csvFlag };

  async run(): Promise<Result<readonly JobJson[]>> {
    const { flags } = await this.input(JobsList);
    const runtime = await this.runtime(flags);
    const { jobStates } = await import('../../src/app/jobs/inspect.ts');
    const { jobListing } = await import('../../src/cli/output/job-view.ts');
    return jobListing(await jobStates(runtime));
  }
}
