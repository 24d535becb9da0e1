import { defineCommand } from '../../src/cli/base-command.ts';
import { applicationArgument, applicationIdFlag } from '../../src/cli/flags/flags.ts';

export default defineCommand({
  summary: 'Show an application with its tokens',
  description: `Shows client type, grant type, client id, redirect URIs, and how many tokens of which users \
it has; in a database context also how many refresh tokens. The client secret is neither read nor shown.`,
  examples: ['ci-pipeline'],
  args: { name: applicationArgument },
  flags: applicationIdFlag,
  async run({ args, flags }) {
    const { shownApplicationFlow } = await import('../../src/cli/applications/application-flow.ts');
    return await shownApplicationFlow(await this.runtime(flags), { name: args.name, id: flags.id });
  },
});
