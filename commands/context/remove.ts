import { boolean } from '@oclif/core/flags';
import { defineCommand } from '../../src/cli/base-command.ts';
import { accountFlags, requiredArgument } from '../../src/cli/flags/flags.ts';

export default defineCommand({
  summary: 'Remove a context',
  description: `Removes the context from the configuration file and from its groups, and deletes the \
credential file that context add created. Your own files and environment variables are kept. A context that \
a job or another context refers to is not removed. Tokens that login created for the context are revoked \
first, unless you use --keep-credential. If a token may still be valid, the message includes its ID (exit \
code 5). Other tokens stay valid.`,
  examples: ['lab'],
  args: { name: requiredArgument('The name of the context.') },
  flags: {
    'keep-credential': boolean({ summary: 'Keep the stored credential file and its token.' }),
    ...accountFlags,
  },
  async run({ args, flags }) {
    const runtime = await this.runtime({ ...flags, context: undefined, 'database-file': undefined });
    const { removalFlow } = await import('../../src/cli/contexts/edit-context.ts');
    return await removalFlow(runtime, args.name, flags);
  },
});
