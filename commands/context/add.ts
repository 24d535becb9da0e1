import { defineCommand } from '../../src/cli/base-command.ts';
import { addContextFlags } from '../../src/cli/contexts/context-flags.ts';
import { requiredArgument } from '../../src/cli/flags/flags.ts';

export default defineCommand({
  summary: 'Add a context',
  description: `A context is a name for a controller, with its address and credential. Give --url for the \
REST API, or one of the database flags for the database. The credential comes from a file that only you can \
read, an environment variable, stdin or, without a flag, a prompt. The prompt asks for a token or, with \
--username, for a password. Your input is not shown. It is stored in a file that only you can read. To \
create a token from a password, use tokenctl login. A database password is part of the URL, or comes from \
~/.pgpass. The configuration file refers to the credential and never contains it. The first context becomes \
the current one.`,
  examples: [
    'production --url https://controller.example.org --token-file ./admin.token',
    'lab --url https://lab.example.org --username admin',
    'production-db --database-file ./controller.database',
  ],
  args: { name: requiredArgument('The name of the context.') },
  flags: addContextFlags,
  async run({ args, flags }) {
    const runtime = await this.runtime({ ...flags, context: undefined, 'database-file': undefined });
    const { contextFlow } = await import('../../src/cli/contexts/add-context.ts');
    const { configuration, environment } = runtime;
    return await contextFlow({ configuration, environment, name: args.name, flags });
  },
});
