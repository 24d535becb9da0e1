import { defineCommand } from '../src/cli/base-command.ts';
import { accountFlags, dryRunFlag } from '../src/cli/flags/flags.ts';
import { djangoFlags, djangoStart } from '../src/cli/management/management-command.ts';

export default defineCommand({
  summary: 'Delete expired tokens (replaces awx-manage)',
  description: `A drop-in replacement for awx-manage cleanup_tokens, with the same options, the same lines \
on stderr, the same exit codes and no prompt. It deletes the same tokens as tokens cleanup without flags.`,
  examples: ['--database-file ./controller.database'],
  flags: { ...dryRunFlag, ...accountFlags, ...djangoFlags },
  async run({ flags }) {
    // This one never complains of both.
    const early = await djangoStart(this.config.version, { ...flags, 'no-color': false });
    if (early !== null) return early;
    const { managementCleanup } = await import('../src/cli/management/awx-manage.ts');
    return await managementCleanup({ runtime: await this.runtime(flags), flags, json: this.jsonEnabled() });
  },
});
