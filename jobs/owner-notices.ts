import { TokenctlError } from '@tokenctl/common/errors.ts';
import { z } from 'zod';
import { incompleteText } from '../src/domain/claims.ts';
import { defineJob, type JobReport, type TargetJobContext } from '../src/operations/jobs/job.ts';
import type { Mailer } from '../src/operations/ports/notifier.ts';

/** Notifies token owners by mail, once, about tokens that expire soon or were revoked. */
export const ownerNotices = defineJob({
  name: 'owner-notices',
  on: 'target',
  schedule: '30 8 * * *',
  dryRun: true,
  /** The section `ownerNotices` has the settings. */
  parameters: () => z.strictObject({}).prefault({}),
  check: (_parameters, settings) => void settings.ownerNotices(),
  async run(context) {
    const mailer = context.services.mailer();
    try {
      return await tellOwners(context, mailer);
    } finally {
      await mailer.close();
    }
  },
});

async function tellOwners(context: TargetJobContext, mailer: Mailer): Promise<JobReport> {
  const { planOwnerNotices } = await import('../src/operations/token-audit/owner-notices.ts');
  const { sendOwnerNotices } = await import('../src/operations/token-audit/send-owner-notices.ts');
  const rules = context.services.ownerNotices();
  const incomplete = incompleteText(context.description);
  const limit = incomplete === null ? '' : `. ${incomplete}`;
  const plan = await planOwnerNotices({ ...context, rules });
  const { visibility } = context.description;
  const { later, toldBefore, optedOut } = plan;
  const unreachable = plan.unreachable.length;
  const counted = { later, toldBefore, optedOut, unreachable, visibility };
  const planned = plan.digests.length;
  if (context.dryRun) {
    return {
      message: `Would email ${planned} owners; ${unreachable} cannot be reached${limit}`,
      summary: { planned, ...counted },
    };
  }
  if (planned === 0) {
    return {
      message: `No owner to email; ${unreachable} cannot be reached${limit}`,
      summary: { planned, ...counted },
    };
  }
  const report = await sendOwnerNotices({ ...context, plan, rules, mailer });
  const { sent, failed, notTried, skipped, interrupted, run: auditRun } = report;
  const summary = {
    planned,
    sent,
    skipped,
    notTried,
    failed: failed.length,
    ...counted,
    auditRun,
    undeliverable: report.undeliverable.length,
  };
  const message = `Emailed ${sent} of ${planned} owners; ${unreachable} cannot be reached${limit}`;
  if (interrupted) return { message, summary, interrupted };
  const [first] = failed;
  if (first === undefined) return { message, summary };
  throw new TokenctlError('partly_done', `${message}; ${failed.length} failed: ${first.reason}`, {
    hint: 'Fix the mail server. The next run sends the remaining emails.',
    details: summary,
  });
}
