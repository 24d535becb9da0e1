import { string } from '@oclif/core/flags';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { requiredArgument } from '../../src/cli/flags.ts';
import type { ShownPlanJson } from '../../src/cli/plans/plan-flow.ts';
import type { Result } from '../../src/reports/result.ts';

export default class PlanShow extends TokenctlCommand {
  static override summary = 'Show a saved plan and its approval';

  static override description =
    `Shows what a plan of tokens revoke, tokens find or incident lockdown (--plan-out) would do, who made it, who \
approved it, and whether it was applied by the audit log in use. Asks no controller.

With --json, prints what docs/schemas/plan-show.json describes.`;

  static override examples = ['<%= config.bin %> <%= command.id %> plan.json'];

  static override args = {
    plan: requiredArgument('The file of the plan.'),
  };

  static override flags = {
    'approval-file': string({
      summary: 'The file of the approval. Default: the file of the plan with .approval added.',
      helpValue: 'FILE',
    }),
  };

  async run(): Promise<Result<ShownPlanJson>> {
    const { args, flags } = await this.input(PlanShow);
    const { showPlan } = await import('../../src/cli/plans/plan-flow.ts');
    return await showPlan({ runtime: await this.runtime(flags), path: args.plan }, flags);
  }
}
