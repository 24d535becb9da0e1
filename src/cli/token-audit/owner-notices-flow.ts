import { TokenctlError } from '@tokenctl/common/errors.ts';
import { openOwnerMailer, ownerNoticeRules, requireOwnerNotices } from '../../app/owner-notices.ts';
import type { TargetDescription } from '../../operations/ports/target.ts';
import {
  type OwnerDigest,
  type OwnerNoticePlan,
  type OwnerNoticeRules,
  planOwnerNotices,
} from '../../operations/token-audit/owner-notices.ts';
import {
  mailFor,
  type OwnerNoticeReport,
  sendOwnerNotices,
} from '../../operations/token-audit/send-owner-notices.ts';
import { bad, code, type Document, lines, list, would } from '../../reports/document.ts';
import type { MaybeMade } from '../../reports/result.ts';
import { countText } from '../../reports/tables/text.ts';
import { type ChangeRequest, type Ending, notMade, type PlannedChange } from '../change/change.ts';
import { firstOf, runLine, tookText, unfinishedWork } from '../change/ending.ts';
import { noteLimit } from '../output/streams.ts';
import type { OwnerNoticeFlags } from './audit-flags.ts';

/** A token that expires soon, as `--json` has it. */
interface ExpiringJson {
  readonly token: number;
  /** In days. */
  readonly threshold: number;
  readonly daysLeft: number;
  readonly expires: Date;
}

/** The notices for one owner, as `--json` has them. */
interface DigestJson extends Omit<OwnerDigest, 'expiring'> {
  readonly subject: string;
  readonly expiring: readonly ExpiringJson[];
}

/** The plan, as `--json` has it. */
interface PlanJson extends Omit<OwnerNoticePlan, 'digests'> {
  readonly digests: readonly DigestJson[];
}

/** The result of sending, without what the plan has. */
type SentReport = Omit<OwnerNoticeReport, keyof OwnerNoticePlan>;

/** What `tokens notify-owners` prints with `--json`. */
export interface OwnerNoticesJson extends MaybeMade<SentReport> {
  readonly dryRun: boolean;
  readonly plan: PlanJson;
}

/**
 * Plans a mail to each owner.
 * @throws TokenctlError `configuration` without a mail server, `not_found` for an owner of --show who would
 * get no mail, and as the operations do
 */
export async function ownerNoticesFlow(
  request: ChangeRequest<OwnerNoticeFlags>,
): Promise<PlannedChange<OwnerNoticeReport, OwnerNoticesJson>> {
  const { runtime, flags } = request;
  const settings = requireOwnerNotices(runtime.configuration.ownerNotices);
  const configured = ownerNoticeRules(settings);
  const rules = { ...configured, atMost: Math.min(flags['at-most'] ?? configured.atMost, configured.atMost) };
  const read = await runtime.readTarget();
  const { description } = read;
  await noteLimit(runtime);
  const log = await runtime.auditLog();
  const plan = await planOwnerNotices({ ...read, log, rules });
  const owners = plan.digests.length;
  const shown = flags['dry-run'] === true ? flags.show : undefined;
  return {
    plan: planDocument(plan, description),
    preview: shown === undefined ? [] : shownMail(plan, { owner: shown, rules, description }),
    question:
      owners === 0 ? null : { act: `send email to ${countText(owners, 'owner')}`, type: String(owners) },
    amount: { what: 'mail', planned: owners },
    async act(begin) {
      const mailer = openOwnerMailer(settings, runtime.environment);
      try {
        return await sendOwnerNotices({ ...(await begin()), plan, rules, mailer });
      } finally {
        await mailer.close();
      }
    },
    ended: sentEnding,
    json: ({ dryRun, done }) => {
      const nothing = notMade(
        'planned sent undeliverable failed skipped notTried interrupted stopped run seconds',
      );
      return {
        dryRun,
        plan: planToJson(plan, { rules, description }),
        ...(done === null ? nothing : sentReport(done)),
      };
    },
  };
}

function sentReport({
  unreachable: _unreachable,
  later: _later,
  toldBefore: _told,
  optedOut: _out,
  ...sent
}: OwnerNoticeReport): SentReport {
  return sent;
}

/** The plan with the tokens by id, and the subjects. */
function planToJson(
  plan: OwnerNoticePlan,
  options: { readonly rules: OwnerNoticeRules; readonly description: TargetDescription },
): PlanJson {
  return {
    ...plan,
    digests: plan.digests.map((digest) => ({
      ...digest,
      subject: mailFor(digest, options).subject,
      expiring: digest.expiring.map(({ token, threshold, daysLeft }) => ({
        token: token.id,
        threshold,
        daysLeft,
        expires: token.expires,
      })),
    })),
  };
}

const WHY = {
  no_address: 'no email address',
  invalid_address: 'an invalid email address',
  other_domain: 'an address in another domain',
  unknown: 'no such user',
} as const;

/** The maximum number of owners of each kind in the text. */
const LISTED = 20;

function planDocument(plan: OwnerNoticePlan, { address, context }: TargetDescription): Document {
  const { digests, unreachable, toldBefore, optedOut } = plan;
  return [
    lines(
      digests.length === 0
        ? 'No owner to email.'
        : would`send email to ${countText(digests.length, 'owner')}, about tokens at ${address} (context ${context}).`,
      list(...firstOf(digests, LISTED, digestText)),
      unreachableText(plan),
      list(
        ...firstOf(
          unreachable,
          LISTED,
          ({ owner, why, tokens }) => `${owner}: ${WHY[why]} (${countText(tokens, 'token')})`,
        ),
      ),
      laterText(plan),
      toldBefore > 0 && `Told before: ${countText(toldBefore, 'token')}.`,
      optedOut > 0 && `Excluded by rules: ${countText(optedOut, 'token')}.`,
    ),
  ];
}

function unreachableText({ unreachable }: Pick<OwnerNoticePlan, 'unreachable'>): string {
  return unreachable.length === 0 ? '' : `Not reachable: ${countText(unreachable.length, 'owner')}.`;
}

function laterText({ later }: Pick<OwnerNoticePlan, 'later'>): string {
  return later === 0 ? '' : `Left for the next run: ${countText(later, 'owner')}.`;
}

function digestText({ owner, address, organization, expiring, revoked }: OwnerDigest): string {
  const about = [
    ...(expiring.length === 0 ? [] : [`${countText(expiring.length, 'token expires', 'tokens expire')}`]),
    ...(revoked.length === 0 ? [] : [`${countText(revoked.length, 'token was', 'tokens were')} revoked`]),
  ].join(', ');
  const template = organization === null ? '' : `, template of ${organization}`;
  return `${owner} <${address}>: ${about}${template}`;
}

/** The mail to one owner, as it would be sent. */
function shownMail(
  { digests }: OwnerNoticePlan,
  options: { owner: string; rules: OwnerNoticeRules; description: TargetDescription },
): Document {
  const digest = digests.find(({ owner }) => owner === options.owner);
  if (digest === undefined) {
    throw new TokenctlError('not_found', `${options.owner} would not get an email`, {
      hint: 'Run the dry run without --show to list the owners who would.',
    });
  }
  const { subject, text } = mailFor(digest, options);
  return [lines(`To: ${digest.address}`, `Subject: ${subject}`), code(...text.trimEnd().split('\n'))];
}

function sentEnding(done: OwnerNoticeReport): Ending {
  const { planned, sent, undeliverable, failed, skipped, notTried, interrupted, stopped, run } = done;
  const left = failed.length + notTried;
  return {
    document: [
      lines(
        `Sent ${sent} of ${countText(planned, 'email')} ${tookText(done.seconds)}.`,
        undeliverable.length > 0 && `Permanently rejected by the mail server: ${undeliverable.join(', ')}.`,
        skipped > 0 && `Sent by another run: ${countText(skipped, 'email')}.`,
        list(...firstOf(failed, LISTED, ({ owner, reason }) => bad`Failed: ${owner}: ${reason}`)),
        unreachableText(done),
        laterText(done),
        runLine(run),
      ),
    ],
    amount: { what: 'mail', planned, done: sent },
    failure: unfinishedWork({
      interrupted,
      stopped,
      left: `${countText(left, 'email was', 'emails were')} not sent`,
      open: left > 0,
    }),
  };
}
