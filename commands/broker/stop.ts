import { defineCommand } from '../../src/cli/base-command.ts';
import { changeFlags, requiredArgument } from '../../src/cli/flags/flags.ts';

export default defineCommand({
  summary: 'Stop a broker rule, and revoke its tokens',
  description: `From then on, brokers with the same audit log issue no tokens for this rule until tokenctl broker resume. The stop is recorded first. \
Then the rule's live tokens are revoked. A lockdown of the rule's user (tokenctl incident lockdown) also stops the rule.`,
  exitCodes:
    'Exit code 5: the rule is stopped, but some tokens were not revoked, or the revocation could not be verified.',
  examples: ['deploy --reason "runner compromised"'],
  args: { rule: requiredArgument('The name of the rule in the configuration.') },
  flags: changeFlags,
  async run({ args, flags }) {
    const { ruleStopFlow } = await import('../../src/cli/broker/stop-flow.ts');
    return await this.change(flags, (request) =>
      ruleStopFlow({ ...request, rule: args.rule, isStopped: true }),
    );
  },
});
