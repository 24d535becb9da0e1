import type { RevocationPlan } from '../core/plan.ts';
import type { TargetDescription } from '../operations/ports.ts';
import { planText } from './plan-text.ts';
import { type Report, report } from './result.ts';

/**
 * A plan as a command's result: of `--dry-run`, and where there is nothing to do. In JSON it is
 * `{ dryRun, plan }`, the plan as `RevocationPlan` has it.
 */
export function planResult(plan: RevocationPlan, description: TargetDescription, dryRun: boolean): Report {
  return report({
    json: { dryRun, plan },
    text: () => planText(plan, description) + (dryRun ? '\nDry run: nothing was changed.\n' : ''),
  });
}
