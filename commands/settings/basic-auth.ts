import { defineCommand } from '../../src/cli/base-command.ts';
import { requiredArgument } from '../../src/cli/flags/flags.ts';
import { basicAuthFlags } from '../../src/cli/settings/settings-flags.ts';
import type { SwitchJson } from '../../src/cli/settings/switch-flow.ts';
import type { Report } from '../../src/reports/result.ts';

export default defineCommand({
  summary: 'Turn basic authentication on or off',
  description: `Basic authentication sends a user name and password with each request. If this context uses \
a password, basic authentication cannot be turned off without --rescue-token, which names a new file. The \
command creates a token with scope write in it, tests it, and uses it for the change. Existing sessions and \
tokens stay valid.`,
  examples: ['status', 'off --reason "passwords leaked" --ticket SEC-9', 'off --rescue-token ./admin.token'],
  args: {
    state: requiredArgument('The new state, or status to show the current state.', ['on', 'off', 'status']),
  },
  flags: basicAuthFlags,
  async run({ args, flags }): Promise<Report<SwitchJson>> {
    const { switchFlow, switchStatus } = await import('../../src/cli/settings/switch-flow.ts');
    const { basicAuthentication: setting } = await import('../../src/cli/settings/switch-flow.ts');
    if (args.state === 'status') {
      return await this.inContexts(flags, ({ runtime }) => switchStatus({ runtime, setting }));
    }
    const on = args.state === setting.words.on;
    return await this.changeInContexts(flags, (member) => switchFlow({ ...member, flags, setting, on }));
  },
});
