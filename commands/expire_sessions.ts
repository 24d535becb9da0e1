import { string } from '@oclif/core/flags';
import { defineCommand } from '../src/cli/base-command.ts';
import { accountFlags, breakGlassFlag, dryRunFlag } from '../src/cli/flags/flags.ts';
import { djangoFlags, djangoStart } from '../src/cli/management/management-command.ts';

export default defineCommand({
  summary: 'End sessions (replaces awx-manage)',
  description: `Replaces awx-manage expire_sessions: same options, same exit codes, no output, no prompt. \
Without --user it ends all sessions. An unknown user gives exit code 1.`,
  examples: ['--user alice', '--database-file ./controller.database'],
  flags: {
    user: string({ summary: 'End only the sessions of this user.', helpValue: 'NAME' }),
    ...dryRunFlag,
    ...accountFlags,
    ...breakGlassFlag,
    ...djangoFlags,
  },
  async run({ flags }) {
    const early = await djangoStart(this.config.version, flags);
    if (early !== null) return early;
    const { managementExpiry } = await import('../src/cli/management/awx-manage.ts');
    return await managementExpiry({ runtime: await this.runtime(flags), flags });
  },
});
