import type { Runtime } from '../../app/runtime.ts';
import type { Notifier } from '../../operations/ports/notifier.ts';
import {
  type ExpiryNotice,
  type PlanNoticesOptions,
  planNotices,
  readSentNotices,
  type SentNotices,
  sendNotices,
} from '../../operations/token-audit/expiry-notices.ts';
import type { Result } from '../../reports/result.ts';
import { noticeListing, noticeResult } from './notice-view.ts';

/** The flags of `tokens notices`. */
export interface NoticeFlags {
  readonly within?: readonly number[] | undefined;
  readonly 'webhook-file'?: readonly string[] | undefined;
  readonly 'webhook-secret-file'?: string | undefined;
  readonly 'dry-run'?: boolean | undefined;
}

/** Lists the tokens that expire soon, or with a webhook tells of those that it was not told of yet. */
export async function noticeFlow(runtime: Runtime, flags: NoticeFlags): Promise<Result> {
  const plan: PlanNoticesOptions = {
    target: await runtime.target(),
    clock: runtime.clock,
    thresholds: flags.within,
  };
  const addresses = flags['webhook-file'] ?? [];
  if (addresses.length === 0) return noticeListing(planNotices(plan));
  const notifiers = await runtime.webhooks({ addresses, signingSecret: flags['webhook-secret-file'] });
  if (flags['dry-run'] === true) {
    const sent = await readSentNotices(await runtime.auditLog(), await runtime.description());
    return noticeListing(untold(planNotices(plan), { sent, notifiers }));
  }
  const change = await runtime.change({});
  return noticeResult(await sendNotices({ ...change, ...plan, notifiers }));
}

/** Those that at least one of the notifiers was not told of. */
async function* untold(
  notices: AsyncIterable<ExpiryNotice>,
  { sent, notifiers }: { readonly sent: SentNotices; readonly notifiers: readonly Notifier[] },
): AsyncIterable<ExpiryNotice> {
  for await (const notice of notices) {
    const { token, threshold } = notice;
    if (notifiers.some(({ name }) => !sent.has({ tokenId: token.id, threshold, to: name }))) yield notice;
  }
}
