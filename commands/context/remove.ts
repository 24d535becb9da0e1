import { boolean } from '@oclif/core/flags';
import { defineCommand } from '../../src/cli/base-command.ts';
import { requiredArgument } from '../../src/cli/flags/flags.ts';

export default defineCommand({
  summary: 'Remove a context',
  description: `Removes the context from the configuration file and its groups, and deletes the file in \
which context add stored its credential. Files and variables of your own stay. A context that a job or \
another context names is not removed. Nothing changes at the controller: a token of the context stays valid.`,
  examples: ['lab'],
  args: {
    name: requiredArgument('The name of the context.'),
  },
  flags: {
    'keep-credential': boolean({ summary: 'Keep the file with the stored credential.' }),
  },
  async run({ args, flags }) {
    const runtime = await this.runtime({ ...flags, context: undefined, 'database-file': undefined });
    const { removalFlow } = await import('../../src/cli/contexts/edit-context.ts');
    return removalFlow(runtime.configuration, args.name, flags['keep-credential'] === true);
  },
});
