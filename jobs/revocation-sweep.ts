import type { Policy, RuleName } from '../src/domain/policy/policy.ts';
import { type Job, revocationJobReport, type TargetJobContext } from '../src/operations/jobs/job.ts';
import { planSweep } from '../src/operations/jobs/plan-sweep.ts';
import { reconcile } from '../src/operations/journal/reconcile.ts';
import { revokeTokens } from '../src/operations/revocation/revoke-tokens.ts';

/** The parameters of a sweep. */
export interface RevocationSweepParameters {
  readonly policy: Policy;
  /** The rules whose findings are revoked. */
  readonly rules: readonly RuleName[];
  /** Milliseconds. */
  readonly keepIfYounger: number;
  /** Maximum number of tokens per run, oldest first. */
  readonly atMost: number;
  readonly stopAbovePercent: number;
  readonly accessOnly: boolean;
}

/** Revokes the tokens that a policy's rules find. */
export const revocationSweep: Job<TargetJobContext, RevocationSweepParameters> = {
  name: 'revocation-sweep',
  schedule: '0 3 * * *',
  async run(context, parameters) {
    // A killed run may have left an intent without an outcome.
    await reconcile(context);
    const { plan, ...counted } = await planSweep({ ...context, ...parameters });
    if (plan === null)
      return { message: `Found nothing to revoke among ${counted.tokens} tokens`, summary: counted };
    if (context.dryRun) {
      const planned = plan.tokenIds.length;
      return {
        message: `Would revoke ${planned} of ${counted.tokens} tokens`,
        summary: { ...counted, planned },
      };
    }
    const reason = `scheduled sweep: ${parameters.rules.join(', ')}`;
    return revocationJobReport(await revokeTokens({ ...context, plan, reason }), counted);
  },
};
