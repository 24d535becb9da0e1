import { defineCommand } from '../../src/cli/base-command.ts';
import { requiredArgument } from '../../src/cli/flags/flags.ts';

export default defineCommand({
  summary: 'Rename a context',
  description: `Renames the context in the configuration file, including references in groups, jobs and \
other contexts. Existing audit log entries keep the old name. Incidents are found by the controller's \
address.`,
  examples: ['lab staging'],
  args: { name: requiredArgument('The name of the context.'), to: requiredArgument('Its new name.') },
  async run({ args, flags }) {
    const runtime = await this.runtime({ ...flags, context: undefined, 'database-file': undefined });
    const { renamingFlow } = await import('../../src/cli/contexts/edit-context.ts');
    return renamingFlow(runtime.configuration, args.name, args.to);
  },
});
