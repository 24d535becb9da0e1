import { createHash } from 'node:crypto';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { type MailTemplate, renderMail } from '../../domain/owner-mail.ts';
import type { Journal } from '../journal/journal.ts';
import { type Change, OperationRun, type RunEnd } from '../journal/operation-run.ts';
import type { Entry } from '../ports/audit-log.ts';
import type { Mailer } from '../ports/notifier.ts';
import type { TargetDescription } from '../ports/target.ts';
import {
  expiringFacts,
  keysIn,
  OPERATION,
  type OwnerDigest,
  type OwnerNoticePlan,
  type OwnerNoticeRules,
  ToldOwners,
} from './owner-notices.ts';

/** The log's data about a mail: never the address, which is personal data. */
function claimOf({ owner, expiring, revoked }: OwnerDigest): Entry['data'] {
  return {
    step: 'mail',
    user: owner,
    expiring: expiring.map(expiringFacts),
    revoked: revoked.map(({ id }) => id),
  };
}

export interface OwnerNoticeReport extends Omit<OwnerNoticePlan, 'digests'>, RunEnd {
  /** Number of mails. */
  readonly planned: number;
  readonly sent: number;
  /** Owners whose address the server permanently refused. They are not notified about the same again. */
  readonly undeliverable: readonly string[];
  readonly failed: readonly { readonly owner: string; readonly reason: string }[];
  /** Mails that another run sends. */
  readonly skipped: number;
  readonly notTried: number;
  readonly seconds: number;
}

/** After this many consecutive temporary failures, no more mails are sent. */
const MAX_FAILURES = 3;

interface SendOptions extends Change {
  readonly plan: OwnerNoticePlan;
  readonly rules: OwnerNoticeRules;
  readonly mailer: Mailer;
}

/**
 * Sends each owner one mail, recorded in the audit log before and after. A refused recipient is skipped, and
 * the others still get their mail. A run that is killed while sending may cause one mail to be sent twice,
 * with the same id.
 * @throws TokenctlError `audit_unavailable` before anything was sent, `outcome_unrecorded` after something
 * was.
 */
export async function sendOwnerNotices(options: SendOptions): Promise<OwnerNoticeReport> {
  const { plan } = options;
  using work = new OperationRun(options, OPERATION);
  await work.open({
    selection: 'tokens that expire or were revoked',
    planned: plan.digests.length,
    unreachable: plan.unreachable.length,
    to: options.mailer.name,
  });
  const mailing = new Mailing(work.journal, options);
  for (const digest of plan.digests) {
    if (options.signal?.aborted === true || mailing.stopped !== null) break;
    await mailing.tell(digest);
  }
  const { tried, failed, stopped, ...counts } = mailing;
  const { digests, ...planned } = plan;
  const report: OwnerNoticeReport = {
    planned: digests.length,
    sent: counts.sent,
    skipped: counts.skipped,
    undeliverable: counts.undeliverable,
    failed,
    notTried: digests.length - tried,
    ...planned,
    interrupted: options.signal?.aborted === true && tried < digests.length,
    stopped: stopped && { code: stopped.code, message: stopped.message },
    run: work.journal.run,
    seconds: work.seconds,
  };
  const { sent, skipped, notTried, interrupted } = report;
  await work.close({
    sent,
    skipped,
    notTried,
    interrupted,
    undeliverable: report.undeliverable.length,
    failed: failed.length,
    stopped: report.stopped,
  });
  return report;
}

class Mailing {
  readonly #journal: Journal;
  readonly #options: SendOptions;
  readonly #told: ToldOwners;
  #failuresInARow = 0;
  tried = 0;
  sent = 0;
  skipped = 0;
  readonly undeliverable: string[] = [];
  readonly failed: { readonly owner: string; readonly reason: string }[] = [];
  /** Why no more mails are sent; null while sending continues. */
  stopped: TokenctlError | null = null;

  constructor(journal: Journal, options: SendOptions) {
    this.#journal = journal;
    this.#options = options;
    this.#told = new ToldOwners(options.log, options.description);
  }

  async tell(digest: OwnerDigest): Promise<void> {
    this.tried += 1;
    const claim = await this.#journal.intent(claimOf(digest));
    await this.#told.readOn();
    if (!this.#told.isFirst(keysIn(claim.data), claim.seq)) {
      this.skipped += 1;
      await this.#journal.outcome(claim, { step: 'mail', result: 'skipped' });
      return;
    }
    const { result, error } = await tryToSend(digest, this.#options);
    const reason = error === null ? {} : { reason: error.message };
    await this.#journal.outcome(claim, { step: 'mail', result, ...reason });
    if (result === 'sent') this.sent += 1;
    if (result === 'undeliverable') this.undeliverable.push(digest.owner);
    this.#failuresInARow = error === null ? 0 : this.#failuresInARow + 1;
    if (error !== null) this.#fail(digest, error);
  }

  #fail({ owner }: OwnerDigest, error: TokenctlError): void {
    this.failed.push({ owner, reason: error.message });
    const mayWorkLater = error.code === 'target_unreachable' && this.#failuresInARow < MAX_FAILURES;
    if (!mayWorkLater) this.stopped = error;
  }
}

/** @returns The result for a mail; the error if it temporarily failed, or the server accepts no mail. */
async function tryToSend(
  digest: OwnerDigest,
  options: Pick<Change, 'clock' | 'description'> & {
    readonly rules: OwnerNoticeRules;
    readonly mailer: Mailer;
  },
): Promise<{ readonly result: string; readonly error: TokenctlError | null }> {
  try {
    const result = await options.mailer.send({
      id: idOf(digest, options.description),
      at: options.clock.now(),
      to: digest.address,
      ...mailFor(digest, options),
    });
    return { result: result === 'sent' ? result : 'undeliverable', error: null };
  } catch (error) {
    if (!(error instanceof TokenctlError)) throw error;
    return { result: 'failed', error };
  }
}

export function mailFor(
  digest: OwnerDigest,
  options: { description: TargetDescription; rules: Pick<OwnerNoticeRules, 'template' | 'organizations'> },
): MailTemplate {
  const { description, rules } = options;
  const { organization } = digest;
  const template = (organization !== null && rules.organizations[organization]) || rules.template;
  const { address: controller, context } = description;
  return renderMail(template, { ...digest, controller, context });
}

function idOf(digest: OwnerDigest, { address }: TargetDescription): string {
  const about = JSON.stringify([address, claimOf(digest)]);
  return createHash('sha256').update(about).digest('hex').slice(0, 32);
}
