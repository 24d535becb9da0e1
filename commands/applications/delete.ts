import { defineCommand } from '../../src/cli/base-command.ts';
import {
  applicationArgument,
  applicationIdFlag,
  breakGlassFlag,
  changeFlags,
} from '../../src/cli/flags/flags.ts';

export default defineCommand({
  summary: 'Delete an application and its tokens',
  description: `Revokes the application's access tokens, then deletes the application. This also removes its \
refresh tokens and authorization codes, over REST as well. The plan names the users who lose tokens. To \
confirm, type the name of the application. Afterwards, the command checks that the application and its \
tokens are gone. This cannot be undone. The command refuses to delete an application that this context's own \
token may belong to. If the command was interrupted, run it again to finish. If the configuration requires a \
second person to approve this many tokens, revoke them first with an approved plan (tokens revoke \
--application NAME --plan-out FILE).`,
  exitCodes: 'Exit code 5: the application or one of its tokens remains. Exit code 130: interrupted.',
  examples: ['ci-pipeline --dry-run', 'ci-pipeline --reason "client secret leaked" --ticket SEC-7'],
  args: { name: applicationArgument },
  flags: { ...applicationIdFlag, ...changeFlags, ...breakGlassFlag },
  async run({ args, flags }) {
    const { deletionFlow } = await import('../../src/cli/applications/application-flow.ts');
    const name = { name: args.name, id: flags.id };
    return await this.change(flags, (request) => deletionFlow({ ...request, name }));
  },
});
