import { string } from '@oclif/core/flags';
import { TokenctlCommand } from '../src/cli/base-command.ts';
import { accountFlags } from '../src/cli/flags.ts';
import type { Result } from '../src/reports/tables/result.ts';

/** Stands in for the management command of this name. */
export default class CreateOauth2Token extends TokenctlCommand {
  static override summary =
    'Create a personal access token for a user: stands in for awx-manage create_oauth2_token.';

  static override description =
    `It has the flags and exit codes of the controller's management command, and never asks. The scope is write. The \
value goes into a new file that only you can read, which stderr names; stdout has the token's fingerprint (over REST, \
which tells none, its id) where the management command prints the token.

With --json it prints token (as in tokens list) and output, the file.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> --user robot',
    '<%= config.bin %> <%= command.id %> --user robot --output ./secrets/robot.token',
  ];

  static override flags = {
    user: string({ summary: 'Whose the token is to be.', helpValue: 'NAME' }),
    output: string({
      summary: 'The new file for the value; USER.token in this folder unless given.',
      helpValue: 'FILE',
    }),
    ...accountFlags,
  };

  async run(): Promise<Result> {
    const { flags } = await this.input(CreateOauth2Token);
    const { managementCreation, requireUserName } = await import('../src/cli/awx-manage.ts');
    const user = requireUserName(flags.user);
    return await managementCreation({ runtime: await this.runtime(flags), flags, user });
  }
}
