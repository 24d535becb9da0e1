import { TokenctlError } from '../src/domain/errors.ts';
import { cleanupTokens } from '../src/operations/cleanup/cleanup-tokens.ts';
import { planCleanup } from '../src/operations/cleanup/plan-cleanup.ts';
import type { Job, TargetJobContext } from '../src/operations/jobs/job.ts';
import { reconcile } from '../src/operations/journal/reconcile.ts';

/** The parameters of a cleanup. */
export interface TokenCleanupParameters {
  /** How long revoked refresh tokens are kept, in milliseconds. */
  readonly keepRevokedFor: number;
  /** Maximum number of rows per run. */
  readonly atMost: number;
}

/** Deletes expired tokens and old revoked refresh tokens. */
export const tokenCleanup: Job<TargetJobContext, TokenCleanupParameters> = {
  name: 'token-cleanup',
  schedule: '30 4 * * *',
  async run(context, { keepRevokedFor, atMost }) {
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
    if (context.dryRun) return { message: `Would delete ${plan.total} tokens${limit}`, summary: counted };
    const report = await cleanupTokens({ ...context, plan, reason: 'scheduled cleanup' });
    const { deleted, planned, stopped, run } = report;
    const failed = Object.values(report.byKind).reduce(
      (sum, kind) => sum + kind.failed.length + kind.notTried,
      0,
    );
    const summary = { ...counted, deleted, failed, auditRun: run };
    const message = `Deleted ${deleted} of ${planned} tokens${limit}`;
    if (report.interrupted) return { message, summary, interrupted: true };
    if (failed === 0 && stopped === null) return { message, summary };
    throw new TokenctlError('partly_done', stopped === null ? message : `${message}: ${stopped.message}`, {
      hint: `\`tokenctl log list --run ${run}\` shows what failed, and why.`,
      details: summary,
    });
  },
};
