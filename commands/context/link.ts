import { defineCommand } from '../../src/cli/base-command.ts';
import { requiredArgument } from '../../src/cli/flags/flags.ts';

export default defineCommand({
  summary: 'Set the database context of a controller',
  description: `Records in the configuration file which database context belongs to a REST context. Reports \
use it in the commands that end refresh tokens and sessions, and runbooks use both contexts. Asks both \
contexts which installation they belong to, and refuses to link two different ones.`,
  examples: ['production production-db'],
  args: {
    name: requiredArgument('The REST context.'),
    database: requiredArgument('The database context of the same controller.'),
  },
  async run({ args, flags }) {
    const runtime = await this.runtime({ ...flags, context: undefined, 'database-file': undefined });
    const { linkFlow } = await import('../../src/cli/contexts/link-context.ts');
    return await linkFlow(runtime, args);
  },
});
