import { openOwnerMailer, ownerNoticeRules, requireOwnerNotices } from '../../app/owner-notices.ts';
import type { Runtime } from '../../app/runtime.ts';
import { TokenctlError } from '../../domain/errors.ts';
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
import { type MaybeMade, type NotMade, type Report, report } from '../../reports/tables/result.ts';
import { countText, printable } from '../../reports/tables/text.ts';
import type { Confirmation } from '../confirmation.ts';
import { unfinishedWork } from '../errors/failure.ts';
import type { ChangeFlags } from '../flags.ts';
import { noteLimit } from '../output/streams.ts';

/** A token that expires soon, as `--json` has it. */
interface ExpiringJson {
  /** Its id. */
  readonly token: number;
  /** In days. */
  readonly threshold: number;
  readonly daysLeft: number;
  readonly expires: Date;
}

/** What one owner is told, as `--json` has it. */
interface DigestJson extends Omit<OwnerDigest, 'expiring'> {
  readonly subject: string;
  readonly expiring: readonly ExpiringJson[];
}

/** The plan, as `--json` has it. */
interface PlanJson extends Omit<OwnerNoticePlan, 'digests'> {
  readonly digests: readonly DigestJson[];
}

/** What was sent, without what the plan has. */
type SentReport = Omit<OwnerNoticeReport, keyof OwnerNoticePlan>;

/** What `tokens notify-owners` prints with `--json`. */
export interface OwnerNoticesJson extends MaybeMade<SentReport> {
  readonly dryRun: boolean;
  readonly plan: PlanJson;
}

/** What a command tells owners. */
interface OwnerNoticesRequest {
  readonly runtime: Runtime;
  readonly confirmation: Confirmation;
  readonly flags: ChangeFlags & {
    /** The maximum number of mails. */
    readonly 'at-most'?: number | undefined;
    /** Shows the mail of this owner, in a dry run. */
    readonly show?: string | undefined;
  };
}

/**
 * Plans, confirms, sends each owner a mail and reports.
 *
 * @throws TokenctlError `configuration` without a mail server, `not_found` for an owner of --show who would get no mail,
 * `not_confirmed`, and the errors of the operations
 */
export async function ownerNoticesFlow({
  runtime,
  confirmation,
  flags,
}: OwnerNoticesRequest): Promise<Report<OwnerNoticesJson>> {
  const settings = requireOwnerNotices(runtime.configuration.ownerNotices);
  const configured = ownerNoticeRules(settings);
  const rules = { ...configured, atMost: Math.min(flags['at-most'] ?? configured.atMost, configured.atMost) };
  const description = await runtime.description();
  await noteLimit(runtime);
  const log = await runtime.auditLog();
  const target = await runtime.target();
  const plan = await planOwnerNotices({ target, description, log, clock: runtime.clock, rules });
  const text = planText(plan, description);
  const dryRun = flags['dry-run'] === true;
  if (dryRun || plan.digests.length === 0) {
    const shown = flags.show === undefined ? '' : shownMail(plan, { owner: flags.show, rules, description });
    return report({
      json: { dryRun, plan: planToJson(plan, { rules, description }), ...NOT_SENT },
      text: () => text + (dryRun ? `${shown}\nDry run. Nothing was changed.\n` : ''),
      amount: { what: 'mail', planned: plan.digests.length, done: 0, dryRun },
    });
  }
  await confirmation.confirm({
    plan: text,
    act: `send mail to ${countText(plan.digests.length, 'owner')}`,
    type: String(plan.digests.length),
  });
  const mailer = openOwnerMailer(settings, runtime.environment);
  try {
    const change = await runtime.change(flags);
    const done = await sendOwnerNotices({ ...change, plan, rules, mailer });
    return sentResult(done, planToJson(plan, { rules, description }));
  } finally {
    await mailer.close();
  }
}

const NOT_SENT: NotMade<SentReport> = {
  planned: null,
  sent: null,
  undeliverable: null,
  failed: null,
  skipped: null,
  notTried: null,
  interrupted: null,
  stopped: null,
  run: null,
  seconds: null,
};

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
        ...{ token: token.id, threshold, daysLeft, expires: token.expires },
      })),
    })),
  };
}

const WHY = {
  no_address: 'no mail address',
  invalid_address: 'an invalid mail address',
  other_domain: 'an address of another domain',
  unknown: 'no such user',
} as const;

/** How many owners of each kind the text lists. */
const LISTED = 20;

function planText(plan: OwnerNoticePlan, { address, context }: TargetDescription): string {
  const { digests, unreachable, later, toldBefore, optedOut } = plan;
  const lines = [
    digests.length === 0
      ? 'No owner to send mail to.'
      : `Would send mail to ${countText(digests.length, 'owner')}, about tokens at ${address} (context ${context}).`,
    ...someOf(digests, digestText),
    ...(unreachable.length === 0 ? [] : [`Not reachable: ${countText(unreachable.length, 'owner')}.`]),
    ...someOf(
      unreachable,
      ({ owner, why, tokens }) => `${printable.value(owner)}: ${WHY[why]} (${countText(tokens, 'token')})`,
    ),
    ...(later === 0 ? [] : [`Left for the next run: ${countText(later, 'owner')}.`]),
    ...(toldBefore === 0 ? [] : [`Told before: ${countText(toldBefore, 'token')}.`]),
    ...(optedOut === 0 ? [] : [`Left out by rules: ${countText(optedOut, 'token')}.`]),
  ];
  return `${lines.join('\n')}\n`;
}

function someOf<Item>(items: readonly Item[], text: (item: Item) => string): string[] {
  const more = items.length - LISTED;
  return [
    ...items.slice(0, LISTED).map((item) => `  ${text(item)}`),
    ...(more > 0 ? [`  and ${countText(more, 'more', 'more')}`] : []),
  ];
}

function digestText({ owner, address, organization, expiring, revoked }: OwnerDigest): string {
  const about = [
    ...(expiring.length === 0 ? [] : [`${countText(expiring.length, 'token expires', 'tokens expire')}`]),
    ...(revoked.length === 0 ? [] : [`${countText(revoked.length, 'token was', 'tokens were')} revoked`]),
  ].join(', ');
  const template = organization === null ? '' : `, template of ${printable.value(organization)}`;
  return `${printable.value(owner)} <${printable.value(address)}>: ${about}${template}`;
}

/** The mail of one owner, as it would be sent. */
function shownMail(
  { digests }: OwnerNoticePlan,
  options: {
    readonly owner: string;
    readonly rules: OwnerNoticeRules;
    readonly description: TargetDescription;
  },
): string {
  const digest = digests.find(({ owner }) => owner === options.owner);
  if (digest === undefined) {
    throw new TokenctlError('not_found', `${options.owner} would get no mail`, {
      hint: 'Run the dry run without --show to list the owners who would.',
    });
  }
  const { subject, text } = mailFor(digest, options);
  return `\nTo: ${digest.address}\nSubject: ${subject}\n\n${printable.lines(text)}`;
}

function sentResult(done: OwnerNoticeReport, plan: PlanJson): Report<OwnerNoticesJson> {
  const { planned, sent, undeliverable, failed, skipped, notTried, interrupted, stopped, run } = done;
  const lines = [
    `Sent ${sent} of ${countText(planned, 'mail')} in ${done.seconds.toFixed(1)} s.`,
    ...(undeliverable.length === 0
      ? []
      : [`Refused by the mail server for good: ${undeliverable.map(printable.value).join(', ')}.`]),
    ...(skipped === 0 ? [] : [`Sent by another run: ${countText(skipped, 'mail')}.`]),
    ...someOf(failed, ({ owner, reason }) => `Failed: ${printable.value(owner)}: ${printable.value(reason)}`),
    ...(done.unreachable.length === 0
      ? []
      : [`Not reachable: ${countText(done.unreachable.length, 'owner')}.`]),
    ...(done.later === 0 ? [] : [`Left for the next run: ${countText(done.later, 'owner')}.`]),
    `Audit log: run ${run}.`,
  ];
  const { unreachable: _unreachable, later: _later, toldBefore: _told, optedOut: _out, ...made } = done;
  return report({
    json: { dryRun: false, plan, ...made },
    text: () => `${lines.join('\n')}\n`,
    amount: { what: 'mail', planned, done: sent },
    failure: unfinishedWork({
      interrupted,
      stopped,
      left: `${countText(failed.length + notTried, 'mail was', 'mails were')} not sent`,
      open: failed.length + notTried > 0,
    }),
  });
}
