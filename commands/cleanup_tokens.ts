import { TokenctlCommand } from '../src/cli/base-command.ts';
import { accountFlags } from '../src/cli/flags.ts';
import type { Result } from '../src/reports/tables/result.ts';

/** Stands in for the management command of this name. */
export default class CleanupTokens extends TokenctlCommand {
  static override summary = 'Delete expired tokens: stands in for awx-manage cleanup_tokens.';

  static override description =
    `It has the lines and exit codes of the controller's management command, and never asks. It deletes what tokens \
cleanup deletes without flags.

With --json it prints the report of tokens cleanup instead of the lines.`;

  static override examples = ['<%= config.bin %> <%= command.id %> --database-file ./controller.database'];

  static override flags = { ...accountFlags };

  async run(): Promise<Result> {
    const { flags } = await this.input(CleanupTokens);
    const { managementCleanup } = await import('../src/cli/awx-manage.ts');
    return await managementCleanup({ runtime: await this.runtime(flags), flags });
  }
}
