import { string } from '@oclif/core/flags';
import { defineCommand } from '../src/cli/base-command.ts';
import { accountFlags, dryRunFlag } from '../src/cli/flags/flags.ts';
import { djangoFlags, djangoStart } from '../src/cli/management/management-command.ts';

export default defineCommand({
  summary: 'Create a personal access token (replaces awx-manage)',
  description: `A drop-in replacement for awx-manage create_oauth2_token, with the same options, the same \
exit codes and no prompt. The scope is write. The token is written to a new file that only you can read. The \
file name is printed to stderr. Stdout has the token's fingerprint instead of the token, or its ID over \
REST.`,
  examples: ['--user robot', '--user robot --output ./secrets/robot.token'],
  flags: {
    user: string({ summary: 'The user to create the token for.', helpValue: 'NAME' }),
    output: string({
      summary: 'The new file to write the token to. Default: USER.token in the current directory.',
      helpValue: 'FILE',
    }),
    ...dryRunFlag,
    ...accountFlags,
    ...djangoFlags,
  },
  async run({ flags }) {
    const early = await djangoStart(this.config.version, flags);
    if (early !== null) return early;
    const { managementCreation, requireUserName } = await import('../src/cli/management/awx-manage.ts');
    const user = requireUserName(flags.user);
    return await managementCreation({ runtime: await this.runtime(flags), flags, user });
  },
});
