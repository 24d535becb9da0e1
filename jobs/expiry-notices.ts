import { incompleteText } from '../src/domain/claims.ts';
import { TokenctlError } from '../src/domain/errors.ts';
import type { Job, TargetJobContext } from '../src/operations/jobs/job.ts';
import type { Notifier } from '../src/operations/ports/notifier.ts';
import { planNotices, sendNotices } from '../src/operations/token-audit/expiry-notices.ts';

/** The parameters of expiry notices. */
export interface ExpiryNoticesParameters {
  /** Days before expiry at which to notify, each above 0. */
  readonly thresholds: readonly number[];
  /** The recipients. */
  readonly notifiers: readonly Notifier[];
}

/** Notifies about tokens that expire soon, once per token and threshold. */
export const expiryNotices: Job<TargetJobContext, ExpiryNoticesParameters> = {
  name: 'expiry-notices',
  schedule: '0 8 * * *',
  async run(context, { thresholds, notifiers }) {
    const incomplete = incompleteText(context.description);
    const limit = incomplete === null ? '' : `. ${incomplete}`;
    const { visibility } = context.description;
    if (context.dryRun) {
      let due = 0;
      for await (const _notice of planNotices({ ...context, thresholds })) due += 1;
      return {
        message: `Would notify about up to ${due} expiring tokens, except those already notified${limit}`,
        summary: { due, visibility },
      };
    }
    const { failed, interrupted, ...counted } = await sendNotices({ ...context, thresholds, notifiers });
    const summary = { ...counted, failed: failed.length, visibility };
    const message = `Notified about ${counted.sent} expiring tokens${limit}`;
    if (interrupted) return { message, summary, interrupted: true };
    const [first] = failed;
    if (first === undefined) return { message, summary };
    throw new TokenctlError(
      'partly_done',
      `${message}, but ${failed.length} notices failed: ${first.reason}`,
      {
        hint: 'Fix the recipient. The next run sends the failed notices only.',
        details: summary,
      },
    );
  },
};
