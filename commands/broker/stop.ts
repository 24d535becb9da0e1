import { string as textArgument } from '@oclif/core/args';
import { defineCommand } from '../../src/cli/base-command.ts';
import { changeFlags } from '../../src/cli/flags/flags.ts';

export default defineCommand({
  summary: 'Stop a rule of the broker, and end its tokens',
  description: `Every broker with the same audit log gives no tokens by this rule from then on, until tokenctl broker resume. That is recorded first; \
then the tokens of the rule that live are revoked. A lockdown of its user stops a rule as well: tokenctl incident lockdown.`,
  exitCodes:
    'Exit code 5: the rule is stopped, and some tokens were not revoked, or that could not be verified.',
  examples: ['deploy --reason "runner compromised"'],
  args: {
    rule: textArgument({
      description: 'The name of the rule in the configuration.',
      required: true,
      ignoreStdin: true,
    }),
  },
  flags: changeFlags,
  async run({ args, flags }) {
    const { ruleStopFlow } = await import('../../src/cli/broker/stop-flow.ts');
    return await this.change(flags, (request) =>
      ruleStopFlow({ ...request, rule: args.rule, isStopped: true }),
    );
  },
});
