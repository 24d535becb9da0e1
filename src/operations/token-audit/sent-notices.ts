import type { AuditLog } from '../ports/audit-log.ts';
import type { TargetDescription } from '../ports/target.ts';

/** Under what the audit log keeps what was told. */
export const NOTICE_OPERATION = 'tokens.notice';

/** Which token, how many days before it expires, and by which way it was told. */
export interface SentNotice {
  readonly tokenId: number;
  /** In days. */
  readonly threshold: number;
  /** The notifier's name. */
  readonly to: string;
}

/** What was told before, by the audit log's notes. */
export class SentNotices {
  readonly #sent = new Set<string>();

  has(notice: SentNotice): boolean {
    return this.#sent.has(keyOf(notice));
  }

  add(notice: SentNotice): void {
    this.#sent.add(keyOf(notice));
  }
}

/**
 * Looks up in the audit log what was told of this target's tokens.
 *
 * @throws TokenctlError `log_broken`, `audit_unavailable`
 */
export async function readSentNotices(
  log: Pick<AuditLog, 'entries'>,
  { address }: Pick<TargetDescription, 'address'>,
): Promise<SentNotices> {
  const sent = new SentNotices();
  for await (const { kind, operation, target, data } of log.entries(1, {
    operations: [NOTICE_OPERATION],
  })) {
    if (kind !== 'note' || operation !== NOTICE_OPERATION || target['address'] !== address) continue;
    const { token, threshold, to } = data;
    if (typeof token !== 'number' || typeof threshold !== 'number' || typeof to !== 'string') continue;
    sent.add({ tokenId: token, threshold, to });
  }
  return sent;
}

function keyOf({ tokenId, threshold, to }: SentNotice): string {
  return `${tokenId} ${threshold} ${to}`;
}
