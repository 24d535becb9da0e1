import { string } from '@oclif/core/args';
import { boolean } from '@oclif/core/flags';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { allContextsFlag, changeFlags } from '../../src/cli/flags.ts';
import type { Result } from '../../src/reports/tables/result.ts';

/** Allows or denies tokens to users who come from an identity provider. */
export default class SettingsExternalTokens extends TokenctlCommand {
  static override summary = 'Allow or deny tokens to users who come from an identity provider.';

  static override description =
    `Denying stops new tokens; the existing ones live on unless --revoke-existing revokes them as well. How many \
there are is said in any case.

With --json it prints setting, enabled; for allow and deny also changed, dryRun and holds (at_once, within_a_minute or \
within_five_minutes); for deny also existing \
(users, tokens), or with --revoke-existing revocation (as tokens revoke prints it).`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> status',
    '<%= config.bin %> <%= command.id %> deny --revoke-existing --dry-run',
  ];

  static override args = {
    state: string({
      description: 'What to do.',
      required: true,
      options: ['allow', 'deny', 'status'],
      ignoreStdin: true,
    }),
  };

  static override flags = {
    'revoke-existing': boolean({ summary: 'With deny: revoke the tokens that external users have.' }),
    ...changeFlags,
    ...allContextsFlag,
  };

  async run(): Promise<Result> {
    const { args, flags } = await this.input(SettingsExternalTokens);
    const { switchFlow, switchStatus } = await import('../../src/cli/settings/switch-flow.ts');
    const { denyExternalTokens, requireDeny } = await import('../../src/cli/settings/switch-flow.ts');
    const { externalTokens: setting } = await import('../../src/cli/settings/switch-flow.ts');
    const { confirmationFrom: consentFrom } = await import('../../src/cli/confirmation.ts');
    if (flags['revoke-existing'] === true) requireDeny(args.state);
    if (args.state === 'status') {
      return await this.inContexts(flags, null, ({ runtime }) => switchStatus({ runtime, setting }));
    }
    const on = args.state === setting.words.on;
    return await this.inContexts(flags, consentFrom(flags), (member) => {
      const request = { ...member, flags, setting, on };
      return on ? switchFlow(request) : denyExternalTokens(request, flags['revoke-existing'] === true);
    });
  }
}
