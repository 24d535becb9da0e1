import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { requiredArgument } from '../../src/cli/flags.ts';
import type { ApprovedPlanJson } from '../../src/cli/plans/plan-flow.ts';
import { approveFlags } from '../../src/cli/revocation/revocation-flags.ts';
import type { Result } from '../../src/reports/result.ts';

export default class PlanApprove extends TokenctlCommand {
  static override summary = 'Approve a plan of another person';

  static override description =
    `Signs the digest of a plan with your key, so that it can be applied where the configuration requires two persons \
(approval in docs/configuration.md). The key must be the one that the configuration has for an approver. The person \
who made the plan cannot approve it, and the one who approved it cannot apply it. Confirm by typing the first six \
characters of the digest. The audit log records the approval first. The approval is a text file beside the plan; \
it expires, and counts for this plan only, once.

With --json, prints what docs/schemas/plan-approve.json describes.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> plan.json --key-file ~/.config/tokenctl/approver.key',
    '<%= config.bin %> <%= command.id %> plan.json --valid-for 2h --ticket OPS-17',
  ];

  static override args = {
    plan: requiredArgument('The file of the plan.'),
  };

  static override flags = approveFlags;

  async run(): Promise<Result<ApprovedPlanJson>> {
    const { args, flags } = await this.input(PlanApprove);
    const { approvePlan } = await import('../../src/cli/plans/plan-flow.ts');
    const confirmation = await this.confirmation(flags);
    const runtime = await this.runtime(flags);
    return await approvePlan({ runtime, confirmation, flags, path: args.plan });
  }
}
