import type { DeletionJson } from '../../src/cli/applications/application-flow.ts';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { applicationArgument, applicationIdFlag, breakGlassFlag, changeFlags } from '../../src/cli/flags.ts';
import type { Result } from '../../src/reports/result.ts';

export default class ApplicationsDelete extends TokenctlCommand {
  static override summary = 'Delete an application with its tokens';

  static override description =
    `Revokes the access tokens of the application, then deletes it: its refresh tokens and authorization codes go with \
it, over REST as well. The plan names the users who lose tokens; confirm by typing the name of the application. \
Afterwards it lists the application and its tokens again. It cannot be undone. It refuses to delete the application \
whose token this context may authenticate with. Running it again finishes the work. Where the configuration requires two \
persons for that many tokens, revoke them first with an approved plan (tokens revoke --application NAME --plan-out FILE).

With --json, prints what docs/schemas/applications-delete.json describes.

Exit code 5: the application or a token of it is left. Exit code 130: interrupted.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> ci-pipeline --dry-run',
    '<%= config.bin %> <%= command.id %> ci-pipeline --reason "client secret leaked" --ticket SEC-7',
  ];

  static override args = { name: applicationArgument };

  static override flags = { ...applicationIdFlag, ...changeFlags, ...breakGlassFlag };

  async run(): Promise<Result<DeletionJson>> {
    const { args, flags } = await this.input(ApplicationsDelete);
    const { deletionFlow } = await import('../../src/cli/applications/application-flow.ts');
    const confirmation = await this.confirmation(flags);
    const runtime = await this.runtime(flags);
    return await deletionFlow({ runtime, confirmation, flags, name: { name: args.name, id: flags.id } });
  }
}
