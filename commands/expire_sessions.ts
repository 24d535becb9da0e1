import { string } from '@oclif/core/flags';
import { defineCommand } from '../src/cli/base-command.ts';
import { accountFlags, breakGlassFlag, dryRunFlag } from '../src/cli/flags/flags.ts';
import { djangoFlags, djangoStart } from '../src/cli/management/management-command.ts';

export default defineCommand({
  summary: 'End sessions (replaces awx-manage)',
  description: `A drop-in replacement for awx-manage expire_sessions, with the same options, the same exit \
codes, no output and no prompt. Without --user it ends all sessions. An unknown user results in exit code 1.`,
  examples: ['--user alice', '--database-file ./controller.database'],
  flags: {
    user: string({ summary: "End only this user's sessions.", helpValue: 'NAME' }),
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
