import { defineCommand } from '../../src/cli/base-command.ts';
import { requiredArgument } from '../../src/cli/flags/flags.ts';
import { approveFlags } from '../../src/cli/revocation/revocation-flags.ts';

export default defineCommand({
  summary: "Approve another person's plan",
  description: `Signs the digest of a plan with your key so that it can be applied where the configuration \
requires a second person to approve (see tokenctl docs configuration). The key must match the one configured \
for an approver. The author of a plan cannot approve it, and the approver cannot apply it. To confirm, type \
the first six characters of the digest. The audit log records the approval first. The approval is a text \
file next to the plan. It expires, and is valid once and for this plan only.`,
  examples: [
    'plan.json --key-file ~/.config/tokenctl/approver.key',
    'plan.json --valid-for 2h --ticket OPS-17',
  ],
  args: { plan: requiredArgument('The plan file.') },
  flags: approveFlags,
  async run({ args, flags }) {
    const { approvePlan } = await import('../../src/cli/plans/plan-flow.ts');
    return await this.change(flags, (request) => approvePlan({ ...request, path: args.plan }));
  },
});
