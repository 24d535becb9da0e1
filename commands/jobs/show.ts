import { defineCommand } from '../../src/cli/base-command.ts';
import { requiredArgument } from '../../src/cli/flags/flags.ts';

export default defineCommand({
  summary: 'Show a run and its audit log entries',
  examples: ['5f0c2a1e', '5f0c2a1e-7d3b-4c55-9a58-0d6f6b1b8a77 --json'],
  args: { run: requiredArgument('The UUID of the run or a unique prefix of it.') },
  async run({ args, flags }) {
    const runtime = await this.runtime(flags);
    const { shownRun } = await import('../../src/app/jobs/inspect.ts');
    const { shownRunResult } = await import('../../src/cli/output/job-view.ts');
    return shownRunResult(await shownRun(runtime, args.run));
  },
});
