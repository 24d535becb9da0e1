import type { Policy, RuleName } from '../src/domain/policy/policy.ts';
import { type Job, revocationJobReport, type TargetJobContext } from '../src/operations/jobs/job.ts';
import { planSweep } from '../src/operations/jobs/plan-sweep.ts';
import { reconcile } from '../src/operations/journal/reconcile.ts';
import { revokeTokens } from '../src/operations/revocation/revoke-tokens.ts';

/** What a sweep is told. */
export interface RevocationSweepParameters {
  readonly policy: Policy;
  /** The rules whose findings go. */
  readonly rules: readonly RuleName[];
  /** Milliseconds. */
  readonly keepIfYounger: number;
  /** Tokens in one run; the oldest first. */
  readonly atMost: number;
  readonly stopAbovePercent: number;
  readonly accessOnly: boolean;
}

/** Revokes what a policy's findings name. */
export const revocationSweep: Job<TargetJobContext, RevocationSweepParameters> = {
  name: 'revocation-sweep',
  schedule: '0 3 * * *',
  async run(context, parameters) {
    // A killed run may have left nothing to do, and an intent without an outcome.
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
