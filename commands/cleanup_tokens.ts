import { TokenctlCommand } from '../src/cli/base-command.ts';
import { accountFlags } from '../src/cli/flags.ts';
import type { Result } from '../src/reports/tables/result.ts';

/** Replaces `awx-manage cleanup_tokens`. */
export default class CleanupTokens extends TokenctlCommand {
  static override summary = 'Delete expired tokens (replaces awx-manage)';

  static override description =
    `Replaces awx-manage cleanup_tokens: same output, same exit codes, no prompt. It deletes the same tokens as \
tokens cleanup without flags.

With --json, prints the report of tokens cleanup.`;

  static override examples = ['<%= config.bin %> <%= command.id %> --database-file ./controller.database'];

  static override flags = { ...accountFlags };

  async run(): Promise<Result> {
    const { flags } = await this.input(CleanupTokens);
    const { managementCleanup } = await import('../src/cli/awx-manage.ts');
    return await managementCleanup({ runtime: await this.runtime(flags), flags });
  }
}
