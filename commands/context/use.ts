import { defineCommand } from '../../src/cli/base-command.ts';
import { requiredArgument } from '../../src/cli/flags/flags.ts';

export default defineCommand({
  summary: 'Set the current context',
  examples: ['production'],
  args: { name: requiredArgument('The name of the context.') },
  async run({ args, flags }) {
    const runtime = await this.runtime({ ...flags, context: undefined, 'database-file': undefined });
    const { useContext } = await import('../../src/config/edit-contexts.ts');
    const { chosenResult } = await import('../../src/cli/contexts/context-view.ts');
    useContext(runtime.configuration, args.name);
    return chosenResult(args.name, runtime.configuration.environmentContext);
  },
});
