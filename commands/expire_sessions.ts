import { string } from '@oclif/core/flags';
import { TokenctlCommand } from '../src/cli/base-command.ts';
import { accountFlags } from '../src/cli/flags.ts';
import type { Result } from '../src/reports/tables/result.ts';

/** Stands in for the management command of this name. */
export default class ExpireSessions extends TokenctlCommand {
  static override summary = "End all sessions, or one user's: stands in for awx-manage expire_sessions.";

  static override description =
    `It has the flags and exit codes of the controller's management command, prints nothing as that does, and never \
asks. Without --user it ends the session of everybody who is logged in. An unknown user ends it with 1.

With --json it prints the report of sessions expire.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> --user alice',
    '<%= config.bin %> <%= command.id %> --database-file ./controller.database',
  ];

  static override flags = {
    user: string({ summary: 'Only sessions of this user.', helpValue: 'NAME' }),
    ...accountFlags,
  };

  async run(): Promise<Result> {
    const { flags } = await this.input(ExpireSessions);
    const { managementExpiry } = await import('../src/cli/awx-manage.ts');
    return await managementExpiry({ runtime: await this.runtime(flags), flags });
  }
}
