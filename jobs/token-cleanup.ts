import { TokenctlError } from '@tokenctl/common/errors.ts';
import { numberText } from '@tokenctl/common/text.ts';
import { z } from 'zod';
import { MAX_AGE, milliseconds, whole } from '../src/config/value-schemas.ts';
import { defineJob } from '../src/operations/jobs/job.ts';

/** Deletes expired tokens and old revoked refresh tokens. */
export const tokenCleanup = defineJob({
  name: 'token-cleanup',
  on: 'target',
  schedule: '30 4 * * *',
  dryRun: true,
  parameters: () =>
    z
      .strictObject({
        keepRevokedFor: milliseconds({ max: MAX_AGE }).default(30 * 86_400_000),
        /** Maximum number of rows per run. */
        atMost: whole('rows').default(100_000),
      })
      .prefault({}),
  async run(context, { keepRevokedFor, atMost }) {
    const { reconcile } = await import('../src/operations/journal/reconcile.ts');
    const { planCleanup } = await import('../src/operations/cleanup/plan-cleanup.ts');
    // A killed run may have left an intent without an outcome.
    await reconcile(context);
    const plan = await planCleanup({ ...context, keepRevokedFor, limit: atMost });
    const { notSeen } = plan;
    const limit = notSeen === null ? '' : `. Not all tokens are included: ${notSeen}`;
    const counted = {
      planned: plan.total,
      ...plan.counts,
      kept: plan.kept,
      limited: plan.limited,
      ...(notSeen !== null && { notSeen }),
    };
    if (plan.total === 0) {
      return { message: `Nothing${limit === '' ? '' : ' visible'} to clean up${limit}`, summary: counted };
    }
    if (context.dryRun)
      return { message: `Would delete ${numberText(plan.total)} tokens${limit}`, summary: counted };
    const { cleanupTokens } = await import('../src/operations/cleanup/cleanup-tokens.ts');
    const report = await cleanupTokens({ ...context, plan, reason: 'scheduled cleanup' });
    const { deleted, planned, stopped, run } = report;
    const failed = Object.values(report.byKind).reduce(
      (sum, kind) => sum + kind.failed.length + kind.notTried,
      0,
    );
    const summary = { ...counted, deleted, failed, auditRun: run };
    const message = `Deleted ${numberText(deleted)} of ${numberText(planned)} tokens${limit}`;
    if (report.interrupted) return { message, summary, interrupted: true };
    if (failed === 0 && stopped === null) return { message, summary };
    throw new TokenctlError('partly_done', stopped === null ? message : `${message}: ${stopped.message}`, {
      hint: `\`tokenctl log list --run ${run}\` shows what failed and why.`,
      details: summary,
    });
  },
});
