import { defineCommand } from '../../src/cli/base-command.ts';
import { requiredArgument } from '../../src/cli/flags/flags.ts';

export default defineCommand({
  summary: 'Show a run in the audit log',
  description:
    'Shows who started the run, what it did, what it left active, and its entries. log list shows the run IDs.',
  examples: ['5f0c2a1e', '5f0c2a1e-7d3b-4c55-9a58-0d6f6b1b8a77 --json'],
  args: { run: requiredArgument('The UUID of the run or its first characters.') },
  async run({ args, flags }) {
    const runtime = await this.runtime(flags);
    const { readRun } = await import('../../src/operations/audit-log/list-log.ts');
    const { runResult } = await import('../../src/cli/audit-log/entry-listing.ts');
    return runResult(await readRun(await runtime.auditLog(), args.run));
  },
});
