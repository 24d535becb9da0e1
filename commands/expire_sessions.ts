import { string } from '@oclif/core/flags';
import { accountFlags, breakGlassFlag } from '../src/cli/flags.ts';
import { djangoFlags, ManagementCommand, type VersionJson } from '../src/cli/management-command.ts';
import type { SessionExpiryJson } from '../src/cli/sessions.ts';
import type { Result } from '../src/reports/result.ts';

export default class ExpireSessions extends ManagementCommand {
  static override summary = 'End sessions (replaces awx-manage)';

  static override description =
    `Replaces awx-manage expire_sessions: same options, same exit codes, no output, no prompt. Without --user it ends \
all sessions. An unknown user gives exit code 1.

With --json, prints what docs/schemas/expire_sessions.json describes.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> --user alice',
    '<%= config.bin %> <%= command.id %> --database-file ./controller.database',
  ];

  static override flags = {
    user: string({ summary: 'End only the sessions of this user.', helpValue: 'NAME' }),
    ...accountFlags,
    ...breakGlassFlag,
    ...djangoFlags,
  };

  async run(): Promise<Result<SessionExpiryJson | VersionJson>> {
    const { flags } = await this.input(ExpireSessions);
    const early = await this.before(flags);
    if (early !== null) return early;
    const { managementExpiry } = await import('../src/cli/awx-manage.ts');
    return await managementExpiry({ runtime: await this.runtime(flags), flags });
  }
}
