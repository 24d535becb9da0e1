import { string } from '@oclif/core/args';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { allContextsFlag, changeFlags } from '../../src/cli/flags.ts';
import type { Result } from '../../src/reports/tables/result.ts';

/** Turns basic authentication on or off. */
export default class SettingsBasicAuth extends TokenctlCommand {
  static override summary = 'Turn basic authentication (user name and password with each request) on or off.';

  static override description =
    `Turning it off is refused while this tool itself signs in with a password: make a token first, with tokens \
create. Sessions and tokens stay as they are.

With --json it prints setting, enabled; for on and off also changed, dryRun and holds (at_once, within_a_minute or \
within_five_minutes).`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> status',
    '<%= config.bin %> <%= command.id %> off --reason "passwords leaked" --ticket SEC-9',
  ];

  static override args = {
    state: string({
      description: 'What to do.',
      required: true,
      options: ['on', 'off', 'status'],
      ignoreStdin: true,
    }),
  };

  static override flags = { ...changeFlags, ...allContextsFlag };

  async run(): Promise<Result> {
    const { args, flags } = await this.input(SettingsBasicAuth);
    const { switchFlow, switchStatus } = await import('../../src/cli/settings/switch-flow.ts');
    const { basicAuthentication: setting } = await import('../../src/cli/settings/switch-flow.ts');
    const { confirmationFrom: consentFrom } = await import('../../src/cli/confirmation.ts');
    if (args.state === 'status') {
      return await this.inContexts(flags, null, ({ runtime }) => switchStatus({ runtime, setting }));
    }
    const on = args.state === setting.words.on;
    return await this.inContexts(flags, consentFrom(flags), (member) =>
      switchFlow({ ...member, flags, setting, on }),
    );
  }
}
