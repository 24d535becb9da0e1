import { defineCommand } from '../../src/cli/base-command.ts';
import { requiredArgument } from '../../src/cli/flags/flags.ts';

export default defineCommand({
  summary: 'Rename a context',
  description: `Renames the context in the configuration file, also where groups, jobs and other contexts \
name it. The audit log keeps the old name in its entries; incidents are found by the address of the \
controller.`,
  examples: ['lab staging'],
  args: { name: requiredArgument('The name of the context.'), to: requiredArgument('Its new name.') },
  async run({ args, flags }) {
    const runtime = await this.runtime({ ...flags, context: undefined, 'database-file': undefined });
    const { renamingFlow } = await import('../../src/cli/contexts/edit-context.ts');
    return renamingFlow(runtime.configuration, args.name, args.to);
  },
});
