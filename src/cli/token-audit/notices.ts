import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Runtime } from '../../app/runtime.ts';
import type { ExpiringToken } from '../../domain/owner-mail.ts';
import type { Notifier } from '../../operations/ports/notifier.ts';
import {
  type NoticeReport,
  noticeKey,
  type PlanNoticesOptions,
  planNotices,
  readSentNotices,
  type SentNotices,
  sendNotices,
} from '../../operations/token-audit/expiry-notices.ts';
import { lines } from '../../reports/document.ts';
import { type Report, type Result, report } from '../../reports/result.ts';
import { type Listing, listing, timeColumn } from '../../reports/tables/listing.ts';
import { countText } from '../../reports/tables/text.ts';
import { type TokenJson, tokenToJson } from '../../reports/tables/token-view.ts';
import { noteLimit, notingLimit } from '../output/streams.ts';
import type { NoticeFlags } from './audit-flags.ts';

/** A token that expires soon, as `--json` shows it. */
export interface NoticeJson {
  /** In days: the threshold of the due notice. */
  readonly threshold: number;
  readonly daysLeft: number;
  readonly token: TokenJson;
}

/** Checks that the files of webhooks can be used, before querying a controller. Throws `configuration`. */
export async function requireWebhookFiles(runtime: Runtime, flags: NoticeFlags): Promise<void> {
  await webhooksOf(runtime, flags);
}

async function webhooksOf(runtime: Runtime, flags: NoticeFlags): Promise<readonly Notifier[]> {
  const addresses = flags['webhook-file'] ?? [];
  if (addresses.length === 0) return [];
  return await runtime.webhooks({ addresses, signingSecret: flags['webhook-secret-file'] });
}

/** Lists the tokens that expire soon, or sends the unsent notices to a webhook. */
export async function noticeFlow(
  runtime: Runtime,
  flags: NoticeFlags,
): Promise<Result<readonly NoticeJson[] | NoticeReport>> {
  const plan: PlanNoticesOptions = {
    target: await runtime.target(),
    clock: await runtime.targetClock(),
    thresholds: flags.within,
    log: await runtime.auditLog(),
    description: await runtime.description(),
  };
  const notifiers = await webhooksOf(runtime, flags);
  if (notifiers.length === 0) return noticeListing(notingLimit(runtime, planNotices(plan)));
  await noteLimit(runtime);
  if (flags['dry-run'] === true) {
    const sent = await readSentNotices(plan.log, plan.description);
    return noticeListing(untold(planNotices(plan), { sent, notifiers }));
  }
  const change = await runtime.change({});
  return noticeResult(await sendNotices({ ...plan, ...change, notifiers }));
}

/** The notices that at least one notifier has not sent. */
async function* untold(
  notices: AsyncIterable<ExpiringToken>,
  { sent, notifiers }: { sent: SentNotices; notifiers: readonly Notifier[] },
): AsyncIterable<ExpiringToken> {
  for await (const notice of notices) {
    const { token, threshold } = notice;
    const keys = notifiers.map(({ name }) => noticeKey({ tokenId: token.id, threshold, to: name }));
    if (keys.some((key) => !sent.has(key))) yield notice;
  }
}

/** Tokens that expire soon, as a command's result: in JSON `threshold`, `daysLeft`, `token`. */
function noticeListing(rows: AsyncIterable<ExpiringToken>): Listing<ExpiringToken, NoticeJson> {
  return listing({
    rows,
    columns: [
      { name: 'days_left', cell: ({ daysLeft }) => String(daysLeft), whole: true },
      { name: 'threshold', cell: ({ threshold }) => String(threshold), narrow: 'drop' },
      { name: 'token', cell: ({ token }) => String(token.id), whole: true },
      {
        name: 'user',
        cell: ({ token }) => token.user?.username ?? '(none)',
        csv: ({ token }) => token.user?.username ?? '',
        whole: true,
      },
      {
        name: 'application',
        cell: ({ token }) => token.application?.name ?? '(personal)',
        csv: ({ token }) => token.application?.name ?? '',
      },
      timeColumn('expires', ({ token }) => token.expires),
      { name: 'description', cell: ({ token }) => token.description, narrow: 'drop' },
    ],
    json: ({ threshold, daysLeft, token }) => ({ threshold, daysLeft, token: tokenToJson(token) }),
    none: 'No tokens expire that soon.',
  });
}

function noticeResult(told: NoticeReport): Report<NoticeReport> {
  const { due, sent, sentBefore, failed, interrupted } = told;
  return report({
    json: told,
    document: [
      lines(
        `${countText(due, 'token')} about to expire: ${countText(sent, 'notice')} sent, ${sentBefore} sent before, ${failed.length} failed.`,
        failed.map(
          ({ tokenId, threshold, to, reason }) =>
            `Not sent: token ${tokenId}, ${threshold} days, to the ${to}: ${reason}.`,
        ),
      ),
    ],
    failure: failureOf(failed.length, interrupted),
  });
}

function failureOf(failed: number, interrupted: boolean): TokenctlError | undefined {
  const hint = 'Run the same command again to send the rest.';
  if (interrupted)
    return new TokenctlError('interrupted', 'Interrupted: not all notices were sent', { hint });
  if (failed === 0) return undefined;
  return new TokenctlError('partly_done', `${countText(failed, 'notice')} could not be sent`, { hint });
}
