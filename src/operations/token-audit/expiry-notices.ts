import { createHash, randomUUID } from 'node:crypto';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { recordedClock } from '../../domain/clock-difference.ts';
import { endOf, isTokenOf } from '../../domain/leased-token.ts';
import type { Lease } from '../../domain/leases.ts';
import type { ExpiringToken } from '../../domain/owner-mail.ts';
import { DAY } from '../../domain/policy/rule.ts';
import type { Token } from '../../domain/token.ts';
import { entryTarget, outcomeUnrecorded } from '../journal/journal.ts';
import type { Change } from '../journal/operation-run.ts';
import { readLeases } from '../journal/recorded-leases.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { Clock } from '../ports/clock.ts';
import type { Notice, Notifier } from '../ports/notifier.ts';
import type { Target, TargetDescription } from '../ports/target.ts';

/** The default thresholds, in days before expiry. */
const defaultThresholds: readonly number[] = [30, 7, 1];

export interface PlanNoticesOptions {
  readonly target: Target;
  readonly clock: Clock;
  /** Contains the leases: the tokens of a sunset end before they expire. */
  readonly log: Pick<AuditLog, 'entries'>;
  readonly description: TargetDescription;
  /** In days, each above 0; at least one. */
  readonly thresholds?: readonly number[] | undefined;
}

/**
 * Streams the tokens that expire soon, each under one threshold. Reads only. Includes tokens that were
 * already notified about: `sendNotices` skips them.
 * @throws Whatever the target and the log throw.
 */
export async function* planNotices(options: PlanNoticesOptions): AsyncIterable<ExpiringToken> {
  const { target, clock, thresholds = defaultThresholds } = options;
  const now = clock.now().getTime();
  const ascending = thresholds.toSorted((one, other) => one - other);
  const last = new Date(now + Math.max(...ascending) * DAY);
  const noticeOf = (token: Token, isRevoked: boolean): ExpiringToken | null => {
    const left = token.expires.getTime() - now;
    const threshold = left <= 0 ? undefined : ascending.find((days) => left <= days * DAY);
    return threshold === undefined ? null : { token, threshold, daysLeft: Math.floor(left / DAY), isRevoked };
  };
  const ends = sunsetEnds(await readLeases(options.log, options.description), last);
  for await (const token of target.tokens({ expiredAt: last })) {
    const notice = ends.has(token.id) ? null : noticeOf(token, false);
    if (notice !== null) yield notice;
  }
  if (ends.size === 0) return;
  for await (const token of target.tokens({ ids: [...ends.keys()] })) {
    const lease = ends.get(token.id);
    // Another token with its id has no lease.
    const own = lease !== undefined && isTokenOf(lease, token) ? lease : undefined;
    const { at, by } = endOf(token, own);
    // Also if the end is in the row: it can be moved, and is then notified about again.
    const isRevoked = by === 'lease' || at.getTime() === Date.parse(own?.until ?? '');
    const notice = noticeOf({ ...token, expires: at }, isRevoked);
    if (notice !== null) yield notice;
  }
}

/** The leases of sunsets that end by an instant, by token. The creator of a program's token knows its end. */
function sunsetEnds(leases: readonly Lease[], last: Date): ReadonlyMap<number, Lease> {
  const soon = leases.filter(
    ({ why, state, until }) => why === 'sunset' && state === 'open' && Date.parse(until) <= last.getTime(),
  );
  return new Map(soon.flatMap((lease) => (lease.token === null ? [] : [[lease.token.id, lease] as const])));
}

export interface SendNoticesOptions
  extends Omit<PlanNoticesOptions, 'log'>,
    Pick<Change, 'log' | 'actor' | 'signal'> {
  readonly notifiers: readonly Notifier[];
}

/** A notice that was not accepted. */
interface FailedNotice {
  readonly tokenId: number;
  /** In days. */
  readonly threshold: number;
  readonly to: string;
  readonly reason: string;
}

export interface NoticeReport {
  readonly due: number;
  readonly sent: number;
  /** Sent in an earlier run. */
  readonly sentBefore: number;
  readonly failed: readonly FailedNotice[];
  readonly interrupted: boolean;
}

const CONCURRENCY = 4;

/**
 * Notifies about tokens that expire soon, once per token, threshold and notifier: every notice sent is
 * recorded in the audit log as a note, which later runs read. The note is written after the notice was
 * accepted, so a killed run may cause one duplicate, with the same id.
 * @throws TokenctlError `outcome_unrecorded` if a notice was sent and the log could not be written: nothing
 * more is sent then.
 */
export async function sendNotices(options: SendNoticesOptions): Promise<NoticeReport> {
  const sent = await readSentNotices(options.log, options.description);
  const counts = { due: 0, sent: 0, sentBefore: 0 };
  const failed: FailedNotice[] = [];
  const stop = new AbortController();
  const stopped = () => stop.signal.aborted || options.signal?.aborted === true;
  const run = randomUUID();
  const due = planNotices(options)[Symbol.asyncIterator]();
  const work = async () => {
    while (!stopped()) {
      const { value: notice, done } = await due.next();
      if (done === true) return;
      counts.due += 1;
      for (const notifier of options.notifiers) {
        const key = { tokenId: notice.token.id, threshold: notice.threshold, to: notifier.name };
        if (sent.has(noticeKey(key))) {
          counts.sentBefore += 1;
          continue;
        }
        const problem = await tryToSend(notifier, asNotice(notice, options));
        if (problem !== null) {
          failed.push({ ...key, reason: problem });
          continue;
        }
        counts.sent += 1;
        await record({ notice, to: notifier.name, run, options });
      }
    }
  };
  try {
    // All of them end before an error is thrown: nothing is sent or recorded in the background.
    const ended = await Promise.allSettled(
      Array.from({ length: CONCURRENCY }, () =>
        work().catch((error: unknown) => {
          stop.abort();
          throw error;
        }),
      ),
    );
    for (const each of ended) if (each.status === 'rejected') throw each.reason;
  } finally {
    await due.return?.();
  }
  return { ...counts, failed, interrupted: options.signal?.aborted === true };
}

/** @returns Why it was not accepted; null if it was */
async function tryToSend(notifier: Notifier, notice: Notice): Promise<string | null> {
  try {
    await notifier.send(notice);
    return null;
  } catch (error) {
    if (error instanceof TokenctlError) return error.message;
    throw error;
  }
}

function asNotice({ token, threshold, daysLeft }: ExpiringToken, { description, clock }: SendNoticesOptions) {
  const { id, user, application, scope, description: purpose, expires } = token;
  const { context, address } = description;
  return {
    id: createHash('sha256').update(`${address} ${id} ${threshold}`).digest('hex').slice(0, 32),
    type: 'token.expiring',
    at: clock.now(),
    data: {
      target: { context, address },
      token: { id, user, application, scope, description: purpose, expires: expires.toISOString() },
      threshold,
      daysLeft,
    },
  };
}

async function record(told: {
  readonly notice: ExpiringToken;
  readonly to: string;
  readonly run: string;
  readonly options: SendNoticesOptions;
}): Promise<void> {
  const { to, run } = told;
  const { log, actor, description } = told.options;
  const { token, threshold } = told.notice;
  const data = {
    token: token.id,
    user: token.user?.username ?? '',
    threshold,
    expires: token.expires.toISOString(),
    to,
  };
  const target = { ...entryTarget(description), ...recordedClock(description) };
  try {
    await log.append({ kind: 'note', operation: NOTICE_OPERATION, run, actor, target, data });
  } catch (cause) {
    throw outcomeUnrecorded(cause, { run, token: token.id, threshold });
  }
}

/** The audit log operation that records sent notices. */
const NOTICE_OPERATION = 'tokens.notice';

/** The notices already sent, as keys. */
export type SentNotices = ReadonlySet<string>;

/** Reads the notices already sent about this target's tokens. Throws `log_broken`, `audit_unavailable`. */
export async function readSentNotices(
  log: Pick<AuditLog, 'entries'>,
  { address }: Pick<TargetDescription, 'address'>,
): Promise<SentNotices> {
  const sent = new Set<string>();
  for await (const { kind, operation, target, data } of log.entries(1, { operations: [NOTICE_OPERATION] })) {
    if (kind !== 'note' || operation !== NOTICE_OPERATION || target['address'] !== address) continue;
    const { token, threshold, to } = data;
    if (typeof token !== 'number' || typeof threshold !== 'number' || typeof to !== 'string') continue;
    sent.add(noticeKey({ tokenId: token, threshold, to }));
  }
  return sent;
}

export function noticeKey({ tokenId, threshold, to }: Omit<FailedNotice, 'reason'>): string {
  return `${tokenId} ${threshold} ${to}`;
}
