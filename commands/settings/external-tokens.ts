import { string } from '@oclif/core/args';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { externalTokensFlags } from '../../src/cli/settings/settings-flags.ts';
import type { ExternalTokensJson } from '../../src/cli/settings/switch-flow.ts';
import type { Result } from '../../src/reports/result.ts';

export default class SettingsExternalTokens extends TokenctlCommand {
  static override summary = 'Allow or deny tokens for external users';

  static override description =
    `External users log in through an identity provider. Denying stops new tokens only. Existing tokens stay valid \
unless --revoke-existing is given; the output shows their number. Allowing, and status, say when a directory was last asked who
has left (docs/identity-providers.md).

With --json, prints what docs/schemas/settings-external-tokens.json describes.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> status',
    '<%= config.bin %> <%= command.id %> deny --revoke-existing --dry-run',
  ];

  static override args = {
    state: string({
      description: 'The new state, or status to show the current one.',
      required: true,
      options: ['allow', 'deny', 'status'],
      ignoreStdin: true,
    }),
  };

  static override flags = externalTokensFlags;

  async run(): Promise<Result<ExternalTokensJson>> {
    const { args, flags } = await this.input(SettingsExternalTokens);
    const flows = await import('../../src/cli/settings/switch-flow.ts');
    const { allowExternalTokens, denyExternalTokens, externalTokens: setting } = flows;
    const { externalTokensStatus, requireDeny } = flows;
    if (flags['revoke-existing'] === true) requireDeny(args.state);
    if (args.state === 'status') {
      return await this.inContexts(flags, null, ({ runtime }) => externalTokensStatus(runtime));
    }
    const on = args.state === setting.words.on;
    return await this.inContexts(flags, await this.confirmation(flags), (member) => {
      const request = { ...member, flags, setting, on };
      return on
        ? allowExternalTokens(request)
        : denyExternalTokens(request, flags['revoke-existing'] === true);
    });
  }
}
