import type { RevocationPlan } from '../../domain/plan.ts';
import type { TargetDescription } from '../../operations/ports/target.ts';
import { type Report, report } from '../../reports/result.ts';
import { amountsOf } from './plan-amounts.ts';
import { planText } from './plan-text.ts';

/** Tokens up to which a plan in JSON names them: a million ids would be 40 MB that nobody reads. */
const NAMED = 10_000;

/**
 * A plan as a command's result: of `--dry-run`, and where there is nothing to do. In JSON it is
 * `{ dryRun, plan }`.
 */
export function planResult(plan: RevocationPlan, description: TargetDescription, dryRun: boolean): Report {
  return report({
    json: { dryRun, plan: planToJson(plan) },
    text: () => planText(plan, description) + (dryRun ? '\nDry run: nothing was changed.\n' : ''),
  });
}

/**
 * The JSON form of a plan: as `RevocationPlan` has it, with how many tokens there are of each kind. In a plan of
 * more than {@link NAMED} tokens the lists of ids and of their owners are null; its digest stands for them.
 */
function planToJson(plan: RevocationPlan): object {
  const { accessTokens, refreshTokens } = amountsOf(plan);
  const isNamed = plan.tokenIds.length + plan.refreshTokenIds.length <= NAMED;
  return {
    accessTokens,
    refreshTokens,
    ...plan,
    ...(!isNamed && { tokenIds: null, owners: null, refreshTokenIds: null, refreshTokenOwners: null }),
  };
}
