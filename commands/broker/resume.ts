import { defineCommand } from '../../src/cli/base-command.ts';
import { changeFlags, requiredArgument } from '../../src/cli/flags/flags.ts';

export default defineCommand({
  summary: 'Resume a stopped broker rule',
  description: `Undoes tokenctl broker stop. Tokens that it ended stay revoked.`,
  examples: ['deploy --reason "runner replaced"'],
  args: { rule: requiredArgument('The name of the rule in the configuration.') },
  flags: changeFlags,
  async run({ args, flags }) {
    const { ruleStopFlow } = await import('../../src/cli/broker/stop-flow.ts');
    return await this.change(flags, (request) =>
      ruleStopFlow({ ...request, rule: args.rule, isStopped: false }),
    );
  },
});
