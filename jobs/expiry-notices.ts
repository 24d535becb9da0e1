import { TokenctlError } from '../src/domain/errors.ts';
import type { Job, TargetJobContext } from '../src/operations/jobs/job.ts';
import type { Notifier } from '../src/operations/ports/notifier.ts';
import { planNotices, sendNotices } from '../src/operations/token-audit/expiry-notices.ts';

/** What the notices are told. */
export interface ExpiryNoticesParameters {
  /** How many days before its expiry a token is told of, each above 0. */
  readonly thresholds: readonly number[];
  /** Whom to tell. */
  readonly notifiers: readonly Notifier[];
}

/** Tells of tokens that expire soon, each once under each threshold. */
export const expiryNotices: Job<TargetJobContext, ExpiryNoticesParameters> = {
  name: 'expiry-notices',
  schedule: '0 8 * * *',
  async run(context, { thresholds, notifiers }) {
    if (context.dryRun) {
      let due = 0;
      for await (const _notice of planNotices({ ...context, thresholds })) due += 1;
      return {
        message: `Would tell of ${due} tokens that expire soon, less those told of before`,
        summary: { due },
      };
    }
    const { failed, interrupted, ...counted } = await sendNotices({ ...context, thresholds, notifiers });
    const summary = { ...counted, failed: failed.length };
    const message = `Told of ${counted.sent} tokens that expire soon`;
    if (interrupted) return { message, summary, interrupted: true };
    const [first] = failed;
    if (first === undefined) return { message, summary };
    throw new TokenctlError(
      'partly_done',
      `${message}, and ${failed.length} notices were not taken: ${first.reason}`,
      {
        hint: 'They are sent in the next run. Those that were taken are not sent again.',
        details: summary,
      },
    );
  },
};
