import type { ShownApplicationJson } from '../../src/cli/applications/application-flow.ts';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { applicationArgument, applicationIdFlag } from '../../src/cli/flags.ts';
import type { Result } from '../../src/reports/result.ts';

export default class ApplicationsShow extends TokenctlCommand {
  static override summary = 'Show an application with its tokens';

  static override description =
    `Shows client type, grant type, client id, redirect URIs, and how many tokens of which users it has; in a database \
context also how many refresh tokens. The client secret is neither read nor shown.

With --json, prints what docs/schemas/applications-show.json describes.`;

  static override examples = ['<%= config.bin %> <%= command.id %> ci-pipeline'];

  static override args = { name: applicationArgument };

  static override flags = { ...applicationIdFlag };

  async run(): Promise<Result<ShownApplicationJson>> {
    const { args, flags } = await this.input(ApplicationsShow);
    const { shownApplicationFlow } = await import('../../src/cli/applications/application-flow.ts');
    return await shownApplicationFlow(await this.runtime(flags), { name: args.name, id: flags.id });
  }
}
