import { defineCommand } from '../../src/cli/base-command.ts';
import { allContextsFlag } from '../../src/cli/flags/flags.ts';

export default defineCommand({
  summary: 'Show the authentication settings',
  examples: ['', '--context production --json'],
  flags: allContextsFlag,
  async run({ flags }) {
    const { readSettings } = await import('../../src/operations/settings/settings.ts');
    const { settingsResult } = await import('../../src/cli/settings/settings-result.ts');
    return await this.inContexts(flags, async ({ runtime }) =>
      settingsResult(await readSettings({ target: await runtime.target() }), await runtime.description()),
    );
  },
});
