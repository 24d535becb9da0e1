import { string } from '@oclif/core/flags';
import { defineCommand } from '../../src/cli/base-command.ts';
import { requiredArgument } from '../../src/cli/flags/flags.ts';

export default defineCommand({
  summary: 'Show a saved plan and its approval',
  description: `Shows what a plan of tokens revoke, tokens find, tokens leases or incident lockdown \
(--plan-out) would do, who created it, who approved it, and whether it was applied according to the current audit log. Asks no \
controller.`,
  examples: ['plan.json'],
  args: { plan: requiredArgument('The plan file.') },
  flags: {
    'approval-file': string({
      summary: 'The approval file. Default: the name of the plan file plus .approval.',
      helpValue: 'FILE',
    }),
  },
  async run({ args, flags }) {
    const { showPlan } = await import('../../src/cli/plans/plan-flow.ts');
    return await showPlan({ runtime: await this.runtime(flags), path: args.plan }, flags);
  },
});
