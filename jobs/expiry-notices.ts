import { TokenctlError } from '@tokenctl/common/errors.ts';
import { z } from 'zod';
import { daysBefore } from '../src/config/value-schemas.ts';
import { incompleteText } from '../src/domain/claims.ts';
import { defineJob, type SharedSettings } from '../src/operations/jobs/job.ts';

/** Notifies about tokens that expire soon, once per token and threshold. */
export const expiryNotices = defineJob({
  name: 'expiry-notices',
  on: 'target',
  schedule: '0 8 * * *',
  dryRun: true,
  parameters: () =>
    z
      .strictObject({
        thresholds: z.array(daysBefore).min(1).default([30, 7, 1]),
        /** Names of `scheduler.notify`; default: all of them. */
        to: z.array(z.string().min(1)).min(1).optional(),
      })
      .prefault({}),
  check: ({ to }, settings) => requireChannels(to, settings),
  async run(context, { thresholds, to }) {
    const { planNotices, sendNotices } = await import('../src/operations/token-audit/expiry-notices.ts');
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
    const { failed, interrupted, ...counted } = await sendNotices({
      ...context,
      thresholds,
      notifiers: context.services.notifiers(to),
    });
    const summary = { ...counted, failed: failed.length, visibility };
    const message = `Notified about ${counted.sent} expiring tokens${limit}`;
    if (interrupted) return { message, summary, interrupted: true };
    const [first] = failed;
    if (first === undefined) return { message, summary };
    throw new TokenctlError(
      'partly_done',
      `${message}, but ${failed.length} notices failed: ${first.reason}`,
      { hint: 'Fix the recipient. The next run sends only the failed notices.', details: summary },
    );
  },
});

function requireChannels(to: readonly string[] | undefined, { channels }: SharedSettings): void {
  if (channels.length === 0) {
    throw new TokenctlError('configuration', 'No recipients configured', {
      hint: 'Add a recipient to scheduler.notify.',
    });
  }
  const unknown = to?.find((name) => !channels.includes(name));
  if (unknown === undefined) return;
  throw new TokenctlError('configuration', `No recipient "${unknown}" in scheduler.notify`, {
    hint: `Use one of: ${channels.join(', ')}.`,
  });
}
