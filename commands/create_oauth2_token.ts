import { string } from '@oclif/core/flags';
import { accountFlags } from '../src/cli/flags.ts';
import { djangoFlags, ManagementCommand, type VersionJson } from '../src/cli/management-command.ts';
import type { CreatedJson } from '../src/cli/tokens/creation-flow.ts';
import type { Result } from '../src/reports/result.ts';

export default class CreateOauth2Token extends ManagementCommand {
  static override summary = 'Create a personal access token (replaces awx-manage)';

  static override description =
    `Replaces awx-manage create_oauth2_token: same options, same exit codes, no prompt. The scope is write. The token \
goes into a new file that only you can read; stderr names the file. Instead of the token, stdout has its \
fingerprint, or over REST its id.

With --json, prints what docs/schemas/create_oauth2_token.json describes.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> --user robot',
    '<%= config.bin %> <%= command.id %> --user robot --output ./secrets/robot.token',
  ];

  static override flags = {
    user: string({ summary: 'The user to create the token for.', helpValue: 'NAME' }),
    output: string({
      summary: 'The new file for the token. Default: USER.token in the current directory.',
      helpValue: 'FILE',
    }),
    ...accountFlags,
    ...djangoFlags,
  };

  async run(): Promise<Result<CreatedJson | VersionJson>> {
    const { flags } = await this.input(CreateOauth2Token);
    const early = await this.before(flags);
    if (early !== null) return early;
    const { managementCreation, requireUserName } = await import('../src/cli/awx-manage.ts');
    const user = requireUserName(flags.user);
    return await managementCreation({ runtime: await this.runtime(flags), flags, user });
  }
}
