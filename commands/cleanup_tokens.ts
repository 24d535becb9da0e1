import type { CleanupJson } from '../src/cli/cleanup.ts';
import { accountFlags } from '../src/cli/flags.ts';
import { djangoFlags, ManagementCommand, type VersionJson } from '../src/cli/management-command.ts';
import type { Result } from '../src/reports/result.ts';

export default class CleanupTokens extends ManagementCommand {
  static override summary = 'Delete expired tokens (replaces awx-manage)';

  static override description =
    `Replaces awx-manage cleanup_tokens: same options, same lines on stderr, same exit codes, no prompt. It deletes \
the same tokens as tokens cleanup without flags.

With --json, prints what docs/schemas/cleanup_tokens.json describes.`;

  static override examples = ['<%= config.bin %> <%= command.id %> --database-file ./controller.database'];

  static override flags = { ...accountFlags, ...djangoFlags };

  async run(): Promise<Result<CleanupJson | VersionJson>> {
    const { flags } = await this.input(CleanupTokens);
    // This one never complains of both.
    const early = await this.before({ ...flags, 'no-color': false });
    if (early !== null) return early;
    const { managementCleanup } = await import('../src/cli/awx-manage.ts');
    return await managementCleanup({
      runtime: await this.runtime(flags),
      flags,
      json: this.jsonEnabled(),
    });
  }
}
