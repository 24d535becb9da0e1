import { numberText } from '@tokenctl/common/text.ts';
import { z } from 'zod';
import { policyFrom, policySchema, ruleName } from '../src/config/policy.ts';
import { MAX_AGE, milliseconds, percent, whole } from '../src/config/value-schemas.ts';
import { requireUsable } from '../src/domain/policy/policy.ts';
import { defineJob, revocationJobReport } from '../src/operations/jobs/job.ts';

/** Revokes the tokens that a policy's rules find. */
export const revocationSweep = defineJob({
  name: 'revocation-sweep',
  on: 'target',
  schedule: '0 3 * * *',
  dryRun: true,
  parameters: () =>
    z.strictObject({
      /** The rules whose findings are revoked. */
      rules: z.array(ruleName).min(1),
      /** Replaces the configuration's policy. */
      policy: policySchema.transform((own) => policyFrom(own)).optional(),
      keepIfYounger: milliseconds({ max: MAX_AGE }).default(7 * 86_400_000),
      /** Maximum number of tokens per run, oldest first. */
      atMost: whole('tokens').default(500),
      stopAbovePercent: percent.default(20),
      accessOnly: z.boolean().default(false),
    }),
  check({ rules, policy }, settings) {
    for (const rule of rules) requireUsable(rule, policy ?? settings.policy);
  },
  async run(context, parameters) {
    const { reconcile } = await import('../src/operations/journal/reconcile.ts');
    const { planSweep } = await import('../src/operations/jobs/plan-sweep.ts');
    // A killed run may have left an intent without an outcome.
    await reconcile(context);
    const policy = parameters.policy ?? context.services.policy;
    const { plan, ...counted } = await planSweep({ ...context, ...parameters, policy });
    if (plan === null)
      return {
        message: `Found nothing to revoke among ${numberText(counted.tokens)} tokens`,
        summary: counted,
      };
    if (context.dryRun) {
      const planned = plan.tokenIds.length;
      return {
        message: `Would revoke ${numberText(planned)} of ${numberText(counted.tokens)} tokens`,
        summary: { ...counted, planned },
      };
    }
    const reason = `scheduled sweep: ${parameters.rules.join(', ')}`;
    const { revokeTokens } = await import('../src/operations/revocation/revoke-tokens.ts');
    return revocationJobReport(await revokeTokens({ ...context, plan, reason }), counted);
  },
});
