import type { Runtime } from '../app/runtime.ts';
import { TokenctlError } from '../domain/errors.ts';
import type { Session, UserReference } from '../domain/token.ts';
import type { Change } from '../operations/journal/operation-run.ts';
import type { TargetDescription } from '../operations/ports/target.ts';
import {
  expireSessions,
  planSessionExpiry,
  type SessionExpiryPlan,
  type SessionExpiryReport,
} from '../operations/sessions/expire-sessions.ts';
import { type UnseenSessions, unseenSessions } from '../operations/sessions/sessions.ts';
import {
  type Listing,
  listing,
  type MaybeMade,
  type NotMade,
  type Report,
  report,
} from '../reports/tables/result.ts';
import { countText, dayText, numberText, printable, timeText } from '../reports/tables/text.ts';
import type { Confirmation } from './confirmation.ts';
import { unfinishedWork } from './errors/failure.ts';
import { approvalFor, type PlanFlags, usersGuard } from './revocation/plan-file.ts';
import { tallyLines } from './revocation/revocation-plan.ts';

/** What `sessions expire` prints with `--json`. Without a change, the members of the report are null; `unseen` is not. */
export interface SessionExpiryJson extends MaybeMade<SessionExpiryReport> {
  readonly dryRun: boolean;
  readonly plan: SessionExpiryPlan;
}

export interface SessionFlags {
  readonly user?: readonly string[] | undefined;
  readonly all?: boolean | undefined;
}

export interface SessionExpiryRequest {
  readonly runtime: Runtime;
  readonly confirmation: Confirmation;
  readonly flags: PlanFlags & SessionFlags;
}

/**
 * Requires --user or --all.
 *
 * @throws TokenctlError `usage`
 */
export function requireSessions({ user, all }: SessionFlags): void {
  if (user !== undefined || all === true) return;
  throw new TokenctlError('usage', 'No sessions are selected', {
    hint: "Add --user NAME, or --all for everybody's",
  });
}

/**
 * Plans, confirms, ends the sessions and reports.
 *
 * @throws TokenctlError `not_confirmed`, and the errors of the operations
 */
export async function sessionExpiryFlow(request: SessionExpiryRequest): Promise<Report<SessionExpiryJson>> {
  const { runtime, confirmation, flags } = request;
  const plan = await planFor(runtime, flags.user);
  const description = await runtime.description();
  const dryRun = flags['dry-run'] === true;
  const { count } = plan.sessions;
  if (dryRun || count === 0) {
    const unseen = await unseenOf(plan, {
      target: await runtime.target(),
      description,
      clock: runtime.clock,
    });
    return sessionPlanResult(plan, { description, dryRun, unseen });
  }
  const approval = await sessionApproval(runtime, { flags, plan });
  await confirmation.confirm({
    plan: sessionPlanText(plan, description),
    act: `end ${countText(count, 'session')}`,
    type: String(count),
  });
  const change = await runtime.change({ ...flags, approval });
  return sessionExpiryResult(await expireSessions({ ...change, plan }), plan);
}

/**
 * Applies the rule of two persons to the end of sessions: those of one user may be ended alone.
 *
 * @throws TokenctlError as {@link approvalFor}
 */
export function sessionApproval(
  runtime: Runtime,
  { flags, plan }: { readonly flags: PlanFlags; readonly plan: SessionExpiryPlan },
) {
  const { userIds } = plan.sessions;
  const users = userIds === 'all' ? userIds : userIds.length;
  return approvalFor({ runtime, flags, ...usersGuard('Ending the sessions of several users', users) });
}

async function planFor(runtime: Runtime, users: readonly string[] | undefined): Promise<SessionExpiryPlan> {
  return await planSessionExpiry({
    target: await runtime.target(),
    ...(users !== undefined && { users }),
  });
}

function sessionPlanText(
  { selection, sessions, byUser }: SessionExpiryPlan,
  { address, context, identity }: TargetDescription,
): string {
  const lines = [
    sessions.count === 0
      ? `No sessions to end for ${printable.value(selection)}.`
      : `Would end ${countText(sessions.count, 'session')}: ${printable.value(selection)}.`,
    `At ${address} (context ${context}, as ${printable.value(identity.username)}).`,
    ...tallyLines('user', byUser, 'session'),
  ];
  return `${lines.join('\n')}\n`;
}

/** A plan as a result, for `--dry-run` or if there are no sessions. */
export function sessionPlanResult(
  plan: SessionExpiryPlan,
  options: {
    readonly description: TargetDescription;
    readonly dryRun: boolean;
    /** Why there may be others, if so. */
    readonly unseen: UnseenSessions | null;
  },
): Report<SessionExpiryJson> {
  const { description, dryRun, unseen } = options;
  const others = unseen === null ? '' : `Not checked. ${unseenText(unseen.why)}\n`;
  const failure =
    unseen === null || dryRun ? undefined : new TokenctlError('partly_done', `Not checked: ${unseen.why}`);
  return report({
    json: { dryRun, plan, ...NOT_ENDED, unseen: unseen?.why ?? null },
    amount: { what: 'session', planned: plan.sessions.count, done: 0, dryRun },
    text: () =>
      sessionPlanText(plan, description) + others + (dryRun ? '\nDry run. Nothing was changed.\n' : ''),
    ...(failure && { failure }),
  });
}

/** Why sessions of a plan may be accepted although they are not listed; null if that is ruled out. */
export function unseenOf(
  plan: SessionExpiryPlan,
  { target, description, clock }: Pick<Change, 'target' | 'description' | 'clock'>,
): Promise<UnseenSessions | null> {
  const { capabilities } = description;
  return unseenSessions(target, {
    ...{ capabilities, userIds: plan.sessions.userIds, now: clock.now(), latestExpiry: null },
  });
}

const NOT_ENDED: NotMade<SessionExpiryReport> = {
  planned: null,
  ended: null,
  stillAlive: null,
  begunSince: null,
  unseen: null,
  cachedUntil: null,
  verified: null,
  interrupted: null,
  stopped: null,
  run: null,
  seconds: null,
};

/** The result of ending sessions, with its plan. */
export function sessionExpiryResult(
  expiry: SessionExpiryReport,
  plan: SessionExpiryPlan,
): Report<SessionExpiryJson> {
  const { planned, stillAlive, interrupted, stopped, verified, unseen } = expiry;
  return report({
    json: { dryRun: false, plan, ...expiry },
    amount: { what: 'session', planned, done: expiry.ended },
    text: () => expiryText(expiry),
    failure: unfinishedWork({
      interrupted,
      stopped,
      open: !verified,
      left: leftText(planned, { stillAlive, unseen }),
    }),
  });
}

function leftText(
  planned: number,
  { stillAlive, unseen }: Pick<SessionExpiryReport, 'stillAlive' | 'unseen'>,
): string {
  const sessions = countText(planned, 'session');
  if (stillAlive === 0 && unseen !== null) return `${sessions} planned. ${unseen}`;
  return stillAlive === null
    ? `${sessions} planned, some may still be active`
    : `${sessions} planned, ${numberText(stillAlive)} still active`;
}

function expiryText(expiry: SessionExpiryReport): string {
  const { planned, ended, seconds, run } = expiry;
  const lines = [
    `Ended ${numberText(ended)} of ${countText(planned, 'session')} in ${seconds.toFixed(1)} s.`,
    verificationText(expiry),
    `Audit log: run ${run}.`,
  ];
  return `${lines.join('\n')}\n`;
}

function verificationText({ verified, stillAlive, begunSince, unseen }: SessionExpiryReport): string {
  if (stillAlive === null) return 'Not verified: the target could not be read.';
  if (stillAlive === 0 && unseen !== null) return `Not verified. ${unseenText(unseen)}`;
  if (!verified)
    return `Verification failed: ${countText(stillAlive, 'session is', 'sessions are')} still active.`;
  const since = begunSince ? ` Started since: ${countText(begunSince, 'session')}.` : '';
  return `Verified: none is listed any more.${since}`;
}

function unseenText(why: string): string {
  return `${why}. To end them at once, deactivate the users, or add \`cache\` to the context.`;
}

/** A session as `--json` shows it. */
export interface SessionJson {
  /** Null if it is not known. */
  readonly user: UserReference | null;
  readonly created: Date | null;
  readonly expires: Date;
  /** First 12 hex digits of the SHA-256 of its key. */
  readonly fingerprint: string;
}

/** The JSON form of a session, with times in ISO 8601 UTC and without its key, which is a secret. */
function sessionToJson({ user, created, expires, fingerprint }: Session): SessionJson {
  return {
    user: user === null ? null : { id: user.id, username: user.username },
    created,
    expires,
    fingerprint,
  };
}

/** The result of `sessions list`. */
export function sessionListing(rows: AsyncIterable<Session>): Listing<Session, SessionJson> {
  return listing({
    rows,
    columns: [
      {
        name: 'user',
        cell: ({ user }) => user?.username ?? '(unknown)',
        csv: ({ user }) => user?.username ?? '',
        whole: true,
      },
      {
        name: 'created',
        cell: ({ created }) => (created === null ? '' : timeText(created)),
        short: ({ created }) => (created === null ? '' : dayText(created)),
        whole: true,
      },
      { name: 'expires', cell: ({ expires }) => timeText(expires), whole: true },
      { name: 'fingerprint', cell: ({ fingerprint }) => fingerprint, whole: true },
    ],
    json: sessionToJson,
    none: 'No sessions.',
  });
}
