import { defineCommand } from '../../src/cli/base-command.ts';
import { requiredArgument } from '../../src/cli/flags/flags.ts';

export default defineCommand({
  summary: "Show a user's tokens and sessions",
  description: `Shows the state, role, identity provider, last login, last change in the activity stream, \
and number of access tokens. In a database context, it also shows the number of refresh tokens and sessions. \
Over REST, these numbers come from the context in databaseContext, if it answers within five seconds.`,
  examples: ['alice'],
  args: { name: requiredArgument('The name of the user.') },
  async run({ args, flags }) {
    const runtime = await this.runtime(flags);
    const { showUser } = await import('../../src/operations/users/users.ts');
    const { linkedDatabase } = await import('../../src/app/linked-database.ts');
    const { noteLimit } = await import('../../src/cli/output/streams.ts');
    const { shownUserResult } = await import('../../src/cli/users/user-view.ts');
    const read = await runtime.readTarget();
    const shown = await showUser({ ...read, name: args.name, linked: await linkedDatabase(runtime) });
    await noteLimit(runtime);
    return shownUserResult(shown, read.description);
  },
});
