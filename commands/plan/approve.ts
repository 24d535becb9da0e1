import { defineCommand } from '../../src/cli/base-command.ts';
import { requiredArgument } from '../../src/cli/flags/flags.ts';
import { approveFlags } from '../../src/cli/revocation/revocation-flags.ts';

export default defineCommand({
  summary: 'Approve a plan of another person',
  description: `Signs the digest of a plan with your key, so that it can be applied where the configuration \
requires a second person to approve (see tokenctl docs configuration). The key must be the one that the configuration has \
for an approver. The person who made the plan cannot approve it, and the one who approved it cannot apply \
it. Confirm by typing the first six characters of the digest. The audit log records the approval first. The \
approval is a text file beside the plan; it expires, and counts for this plan only, once.`,
  examples: [
    'plan.json --key-file ~/.config/tokenctl/approver.key',
    'plan.json --valid-for 2h --ticket OPS-17',
  ],
  args: { plan: requiredArgument('The file of the plan.') },
  flags: approveFlags,
  async run({ args, flags }) {
    const { approvePlan } = await import('../../src/cli/plans/plan-flow.ts');
    return await this.change(flags, (request) => approvePlan({ ...request, path: args.plan }));
  },
});
