import { defineCommand } from '../../src/cli/base-command.ts';
import { requiredArgument } from '../../src/cli/flags/flags.ts';

export default defineCommand({
  summary: "Name the context of a controller's database",
  description: `Records in the configuration file which database context belongs to a REST context. Reports \
name it in the commands that end refresh tokens and sessions, and runbooks are filled in with both. Both \
contexts are asked which installation they are: two different ones are not linked.`,
  examples: ['production production-db'],
  args: {
    name: requiredArgument('The context over REST.'),
    database: requiredArgument("The context of the same controller's database."),
  },
  async run({ args, flags }) {
    const runtime = await this.runtime({ ...flags, context: undefined, 'database-file': undefined });
    const { linkFlow } = await import('../../src/cli/contexts/link-context.ts');
    return await linkFlow(runtime, args);
  },
});
