import { defineCommand } from '../../src/cli/base-command.ts';
import { applicationArgument, applicationIdFlag } from '../../src/cli/flags/flags.ts';

export default defineCommand({
  summary: 'Show an application and its tokens',
  description: `Shows client type, grant type, client ID, redirect URIs, and how many tokens each user has. \
In a database context, it also shows the number of refresh tokens. The client secret is neither read nor \
shown.`,
  examples: ['ci-pipeline'],
  args: { name: applicationArgument },
  flags: applicationIdFlag,
  async run({ args, flags }) {
    const { shownApplicationFlow } = await import('../../src/cli/applications/application-flow.ts');
    return await shownApplicationFlow(await this.runtime(flags), { name: args.name, id: flags.id });
  },
});
