import { string } from '@oclif/core/args';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { basicAuthFlags } from '../../src/cli/settings/settings-flags.ts';
import type { SwitchJson } from '../../src/cli/settings/switch-flow.ts';
import type { Result } from '../../src/reports/result.ts';

export default class SettingsBasicAuth extends TokenctlCommand {
  static override summary = 'Turn basic authentication on or off';

  static override description =
    `Basic authentication sends a user name and password with each request. Turning it off is refused if this context \
itself uses a password, unless --rescue-token names a new file: a token of scope write is created in it first, \
tried, and used for the change. Existing sessions and tokens stay valid.

With --json, prints what docs/schemas/settings-basic-auth.json describes.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> status',
    '<%= config.bin %> <%= command.id %> off --reason "passwords leaked" --ticket SEC-9',
    '<%= config.bin %> <%= command.id %> off --rescue-token ./admin.token',
  ];

  static override args = {
    state: string({
      description: 'The new state, or status to show the current one.',
      required: true,
      options: ['on', 'off', 'status'],
      ignoreStdin: true,
    }),
  };

  static override flags = basicAuthFlags;

  async run(): Promise<Result<SwitchJson>> {
    const { args, flags } = await this.input(SettingsBasicAuth);
    const { switchFlow, switchStatus } = await import('../../src/cli/settings/switch-flow.ts');
    const { basicAuthentication: setting } = await import('../../src/cli/settings/switch-flow.ts');
    if (args.state === 'status') {
      return await this.inContexts(flags, null, ({ runtime }) => switchStatus({ runtime, setting }));
    }
    const on = args.state === setting.words.on;
    return await this.inContexts(flags, await this.confirmation(flags), (member) =>
      switchFlow({ ...member, flags, setting, on }),
    );
  }
}
