import { TokenctlError } from '../../domain/errors.ts';
import type { ExpiryNotice, NoticeReport } from '../../operations/token-audit/expiry-notices.ts';
import { countText } from '../../reports/counts.ts';
import { printable } from '../../reports/printable.ts';
import { type Listing, listing, type Report, report } from '../../reports/result.ts';
import { timeText } from '../../reports/times.ts';
import { tokenToJson } from '../../reports/token-view.ts';

/** Tokens that expire soon, as a command's result: in JSON `threshold`, `daysLeft`, `token`. */
export function noticeListing(rows: AsyncIterable<ExpiryNotice>): Listing<ExpiryNotice> {
  return listing({
    rows,
    columns: [
      { name: 'days_left', cell: ({ daysLeft }) => String(daysLeft), whole: true },
      { name: 'threshold', cell: ({ threshold }) => String(threshold), whole: true },
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
      { name: 'expires', cell: ({ token }) => timeText(token.expires), whole: true },
      { name: 'description', cell: ({ token }) => token.description, narrow: 'drop' },
    ],
    json: ({ threshold, daysLeft, token }) => ({ threshold, daysLeft, token: tokenToJson(token) }),
    none: 'No token expires that soon.',
  });
}

/** What was told, as a command's result. */
export function noticeResult(told: NoticeReport): Report {
  const { due, sent, sentBefore, failed, interrupted } = told;
  const lines = [
    `${countText(due, 'token')} about to expire: ${countText(sent, 'notice')} sent, ${sentBefore} sent before, ${failed.length} failed.`,
    ...failed.map(
      ({ tokenId, threshold, to, reason }) =>
        `Not sent: token ${tokenId}, ${threshold} days, to the ${to}: ${printable.value(reason)}.`,
    ),
  ];
  return report({
    json: told,
    text: () => `${lines.join('\n')}\n`,
    failure: failureOf(failed.length, interrupted),
  });
}

function failureOf(failed: number, interrupted: boolean): TokenctlError | undefined {
  const hint = 'The same command again sends what is left.';
  if (interrupted)
    return new TokenctlError('interrupted', 'Interrupted: not all notices were sent', { hint });
  if (failed === 0) return undefined;
  return new TokenctlError('partly_done', `${countText(failed, 'notice')} could not be sent`, { hint });
}
