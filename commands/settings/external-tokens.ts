import { defineCommand } from '../../src/cli/base-command.ts';
import { requiredArgument } from '../../src/cli/flags/flags.ts';
import { externalTokensFlags } from '../../src/cli/settings/settings-flags.ts';

export default defineCommand({
  summary: 'Allow or deny tokens for external users',
  description: `External users log in through an identity provider. Denying only prevents new tokens. \
Existing tokens stay valid unless you use --revoke-existing. The output shows how many there are. The output \
of allow and status says when a directory was last checked for departed \
users (see tokenctl docs identity-providers).`,
  examples: ['status', 'deny --revoke-existing --dry-run'],
  args: {
    state: requiredArgument('The new state, or status to show the current state.', [
      'allow',
      'deny',
      'status',
    ]),
  },
  flags: externalTokensFlags,
  async run({ args, flags }) {
    const flows = await import('../../src/cli/settings/switch-flow.ts');
    const { allowExternalTokens, denyExternalTokens, externalTokens: setting } = flows;
    const { externalTokensStatus, requireDeny } = flows;
    if (flags['revoke-existing'] === true) requireDeny(args.state);
    if (args.state === 'status') {
      return await this.inContexts(flags, ({ runtime }) => externalTokensStatus(runtime));
    }
    const on = args.state === setting.words.on;
    return await this.changeInContexts(flags, (member) => {
      const request = { ...member, flags, setting, on };
      return on
        ? allowExternalTokens(request)
        : denyExternalTokens(request, flags['revoke-existing'] === true);
    });
  },
});
