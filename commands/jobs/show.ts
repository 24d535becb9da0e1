import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { requiredArgument } from '../../src/cli/flags.ts';
import type { ShownRunJson } from '../../src/cli/output/job-view.ts';
import type { Result } from '../../src/reports/result.ts';

export default class JobsShow extends TokenctlCommand {
  static override summary = 'Show a run with its audit log entries';

  static override description = `With --json, prints what docs/schemas/jobs-show.json describes.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> 5f0c2a1e',
    '<%= config.bin %> <%= command.id %> 5f0c2a1e-7d3b-4c55-9a58-0d6f6b1b8a77 --json',
  ];

  static override args = {
    run: requiredArgument('The UUID of the run, or a unique prefix.'),
  };

  async run(): Promise<Result<ShownRunJson>> {
    const { args, flags } = await this.input(JobsShow);
    const runtime = await this.runtime(flags);
    const { shownRun } = await import('../../src/app/jobs/inspect.ts');
    const { shownRunResult } = await import('../../src/cli/output/job-view.ts');
    return shownRunResult(await shownRun(runtime, args.run));
  }
}
