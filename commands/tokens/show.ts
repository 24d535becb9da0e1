import { string } from '@oclif/core/flags';
import { defineCommand } from '../../src/cli/base-command.ts';
import { countArgument } from '../../src/cli/flags/flags.ts';

export default defineCommand({
  summary: 'Show a token, its owner and its findings',
  description:
    'Never shows the value of the token. Use tokenctl tokens trace to see its history, or to look up a deleted token.',
  examples: ['4711'],
  args: { id: countArgument({ description: 'The token ID.', required: true }) },
  flags: {
    policy: string({
      summary: "The policy file to use instead of the configuration's policy section.",
      helpValue: 'FILE',
    }),
  },
  async run({ args, flags }) {
    const { shownTokenFlow } = await import('../../src/cli/token-audit/show-flow.ts');
    return await shownTokenFlow(await this.runtime(flags), args.id, flags);
  },
});
