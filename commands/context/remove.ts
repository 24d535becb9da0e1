import { boolean } from '@oclif/core/flags';
import { defineCommand } from '../../src/cli/base-command.ts';
import { accountFlags, requiredArgument } from '../../src/cli/flags/flags.ts';

export default defineCommand({
  summary: 'Remove a context',
  description: `Removes the context from the configuration file and its groups, and deletes the file in \
which context add stored its credential. Files and variables of your own stay. A context that a job or \
another context names is not removed. The tokens that login made for the context are revoked first, unless \
--keep-credential is given; if one may still be valid, the message names its id (exit 5). Other tokens stay valid.`,
  examples: ['lab'],
  args: { name: requiredArgument('The name of the context.') },
  flags: {
    'keep-credential': boolean({ summary: 'Keep the file with the stored credential, and its token.' }),
    ...accountFlags,
  },
  async run({ args, flags }) {
    const runtime = await this.runtime({ ...flags, context: undefined, 'database-file': undefined });
    const { removalFlow } = await import('../../src/cli/contexts/edit-context.ts');
    return await removalFlow(runtime, args.name, flags);
  },
});
