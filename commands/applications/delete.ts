import { defineCommand } from '../../src/cli/base-command.ts';
import {
  applicationArgument,
  applicationIdFlag,
  breakGlassFlag,
  changeFlags,
} from '../../src/cli/flags/flags.ts';

export default defineCommand({
  summary: 'Delete an application with its tokens',
  description: `Revokes the access tokens of the application, then deletes it: its refresh tokens and \
authorization codes go with it, over REST as well. The plan names the users who lose tokens; confirm by \
typing the name of the application. Afterwards it lists the application and its tokens again. It cannot be \
undone. It refuses to delete the application whose token this context may authenticate with. Running it \
again finishes the work. Where the configuration requires a second person to approve for that many tokens, revoke them \
first with an approved plan (tokens revoke --application NAME --plan-out FILE).`,
  exitCodes: 'Exit code 5: the application or a token of it is left. Exit code 130: interrupted.',
  examples: ['ci-pipeline --dry-run', 'ci-pipeline --reason "client secret leaked" --ticket SEC-7'],
  args: { name: applicationArgument },
  flags: { ...applicationIdFlag, ...changeFlags, ...breakGlassFlag },
  async run({ args, flags }) {
    const { deletionFlow } = await import('../../src/cli/applications/application-flow.ts');
    const name = { name: args.name, id: flags.id };
    return await this.change(flags, (request) => deletionFlow({ ...request, name }));
  },
});
