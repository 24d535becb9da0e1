import { defineCommand } from '../../src/cli/base-command.ts';
import { optionalArgument } from '../../src/cli/flags/flags.ts';

export default defineCommand({
  summary: 'Show the settings of a context',
  description:
    'Reads only the configuration and connects to nothing. Use tokenctl context check to test the connection.',
  examples: ['', 'production --json'],
  args: { name: optionalArgument('The context to show. Default: the current one.') },
  async run({ args, flags }) {
    const { configuration } = await this.runtime({ ...flags, context: undefined });
    const { contextOf } = await import('../../src/config/contexts.ts');
    const { shownContextResult } = await import('../../src/cli/contexts/context-view.ts');
    const name = args.name ?? flags.context ?? configuration.currentContext;
    return shownContextResult(configuration, contextOf(configuration, name));
  },
});
