import { incompleteText } from '../src/domain/claims.ts';
import { TokenctlError } from '../src/domain/errors.ts';
import type { Job, TargetJobContext } from '../src/operations/jobs/job.ts';
import type { Mailer } from '../src/operations/ports/notifier.ts';
import { type OwnerNoticeRules, planOwnerNotices } from '../src/operations/token-audit/owner-notices.ts';
import { sendOwnerNotices } from '../src/operations/token-audit/send-owner-notices.ts';

/** The parameters of mail to owners. */
export interface OwnerNoticesParameters {
  readonly rules: OwnerNoticeRules;
  readonly mailer: Mailer;
}

/** Tells the owners of tokens by mail which of them expire soon or were revoked, once. */
export const ownerNotices: Job<TargetJobContext, OwnerNoticesParameters> = {
  name: 'owner-notices',
  schedule: '30 8 * * *',
  async run(context, { rules, mailer }) {
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
        message: `Would send mail to ${planned} owners, and cannot reach ${unreachable}${limit}`,
        summary: { planned, ...counted },
      };
    }
    if (planned === 0) {
      return {
        message: `No owner to send mail to; ${unreachable} cannot be reached${limit}`,
        summary: { planned, ...counted },
      };
    }
    const report = await sendOwnerNotices({ ...context, plan, rules, mailer });
    const { sent, failed, notTried, skipped, interrupted, run: auditRun } = report;
    const summary = {
      ...{ planned, sent, skipped, notTried, failed: failed.length, ...counted, auditRun },
      undeliverable: report.undeliverable.length,
    };
    const message = `Sent mail to ${sent} of ${planned} owners, and cannot reach ${unreachable}${limit}`;
    if (interrupted) return { message, summary, interrupted };
    const [first] = failed;
    if (first === undefined) return { message, summary };
    throw new TokenctlError('partly_done', `${message}; ${failed.length} failed: ${first.reason}`, {
      hint: 'Fix the mail server. The next run sends the mails that were not sent.',
      details: summary,
    });
  },
};
