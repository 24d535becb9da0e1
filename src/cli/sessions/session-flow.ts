import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Runtime } from '../../app/runtime.ts';
import { type AccessPath, sentenceOf } from '../../domain/access.ts';
import type { Session } from '../../domain/token.ts';
import { unseenSessions } from '../../operations/access/cached-sessions.ts';
import {
  expireSessions,
  planSessionExpiry,
  type SessionExpiryPlan,
  type SessionExpiryReport,
} from '../../operations/sessions/expire-sessions.ts';
import {
  bad,
  type Document,
  emphasized,
  good,
  type Line,
  lines,
  warning,
  would,
} from '../../reports/document.ts';
import type { MaybeMade } from '../../reports/result.ts';
import { type Listing, listing, timeColumn } from '../../reports/tables/listing.ts';
import { countText, numberText, timeText } from '../../reports/tables/text.ts';
import { usersGuard } from '../change/approval.ts';
import { type ChangeRequest, type Ending, notMade, type PlannedChange } from '../change/change.ts';
import { runLine, tookText, unfinishedWork } from '../change/ending.ts';
import { placeText, tally } from '../change/plan-text.ts';
import type { SessionExpiryFlags } from '../revocation/revocation-flags.ts';

/**
 * What `sessions expire` prints with `--json`. Without a change, the members of the report are null, except
 * `unseen`.
 */
export interface SessionExpiryJson extends MaybeMade<SessionExpiryReport> {
  readonly dryRun: boolean;
  readonly plan: SessionExpiryPlan;
}

/** Requires --user or --all. Throws `usage`. */
export function requireSessions({ user, all }: SessionExpiryFlags): void {
  if (user !== undefined || all === true) return;
  throw new TokenctlError('usage', 'No sessions are selected', {
    hint: 'Add --user NAME, or --all for all users',
  });
}

export async function sessionExpiryFlow(
  request: ChangeRequest<SessionExpiryFlags>,
): Promise<PlannedChange<SessionExpiryReport, SessionExpiryJson>> {
  const { runtime, flags } = request;
  const { user: users } = flags;
  const plan = await planSessionExpiry({ target: await runtime.target(), users });
  return await sessionExpiryChange(runtime, plan, flags['dry-run']);
}

/** What ending sessions shows, does and reports; one person may end the sessions of one user. */
export async function sessionExpiryChange(
  runtime: Runtime,
  plan: SessionExpiryPlan,
  dryRun = false,
): Promise<PlannedChange<SessionExpiryReport, SessionExpiryJson>> {
  const { selection, sessions, byUser } = plan;
  const { count, userIds } = sessions;
  const description = await runtime.description();
  const unseen =
    count > 0 && !dryRun
      ? null
      : await unseenSessions(await runtime.target(), {
          description,
          userIds,
          now: (await runtime.targetClock()).now(),
          latestExpiry: null,
        });
  const others = unseen !== null && warning`Not checked. ${unseenText(unseen)}`;
  const planned: Document = [
    lines(
      count === 0
        ? `No sessions to end for ${selection}.`
        : would`end ${countText(count, 'session')}: ${selection}.`,
      placeText(description),
      count === 0 && others,
    ),
    tally('user', byUser, 'session'),
  ];
  return {
    plan: planned,
    namesSessions: true,
    preview: [lines(count > 0 && others)],
    question: count === 0 ? null : { act: `end ${countText(count, 'session')}`, type: String(count) },
    amount: { what: 'session', planned: count },
    guard: usersGuard('Ending the sessions of several users', userIds === 'all' ? userIds : userIds.length),
    nothing: () => ({
      document: planned,
      failure:
        unseen === null ? undefined : new TokenctlError('partly_done', `Not checked: ${whyText(unseen)}`),
    }),
    act: async (begin) => expireSessions({ ...(await begin()), plan }),
    ended: expiryEnding,
    json: ({ dryRun, done }) => ({
      dryRun,
      plan,
      ...(done ?? {
        ...notMade(
          'planned ended stillAlive begunSince latestExpiry verified interrupted stopped run seconds',
        ),
        unseen,
      }),
    }),
  };
}

export function expiryEnding(done: SessionExpiryReport): Ending {
  const { planned, ended, interrupted, stopped, verified, seconds, run } = done;
  const { stillAlive, begunSince, unseen } = done;
  const isCached = stillAlive === 0 && unseen !== null;
  const hint = isCached
    ? `Running the command again would end nothing more. ${unseen.remedy ?? ''}`
    : undefined;
  return {
    document: [
      lines(
        emphasized`Ended ${numberText(ended)} of ${countText(planned, 'session')} ${tookText(seconds)}.`,
        verificationText(done),
        runLine(run),
      ),
    ],
    amount: { what: 'session', planned, done: ended },
    failure: unfinishedWork({
      interrupted,
      stopped,
      hint,
      left: leftText(done),
      open: !verified || (begunSince ?? 0) > 0,
    }),
  };
}

function leftText({ planned, stillAlive, unseen, verified, begunSince }: SessionExpiryReport): string {
  const sessions = countText(planned, 'session');
  if (verified) return countText(begunSince ?? 0, 'session was started since', 'sessions were started since');
  if (stillAlive === 0 && unseen !== null) return `${sessions} planned. ${whyText(unseen)}`;
  return stillAlive === null
    ? `${sessions} planned, some may still be active`
    : `${sessions} planned, ${numberText(stillAlive)} still active`;
}

function verificationText({ verified, stillAlive, begunSince, unseen }: SessionExpiryReport): Line {
  if (stillAlive === null) return warning`Not verified: the target could not be read.`;
  if (stillAlive === 0 && unseen !== null) return warning`Not verified. ${unseenText(unseen)}`;
  if (!verified)
    return bad`Verification failed: ${countText(stillAlive, 'session is', 'sessions are')} still active.`;
  const since = begunSince ? ` Started since: ${countText(begunSince, 'session')}.` : '';
  return good`Verified: none is listed any more.${since}`;
}

function unseenText(unseen: AccessPath): string {
  return [sentenceOf(unseen), unseen.remedy ?? ''].join(' ');
}

/** As a sentence without a full stop. */
function whyText(unseen: AccessPath): string {
  return sentenceOf(unseen).replace(/\.$/, '');
}

/** @param failure If not all sessions could be read. */
export function sessionListing(
  rows: AsyncIterable<Session>,
  failure: TokenctlError | undefined,
): Listing<Session, Session> {
  return listing({
    rows,
    failure: () => failure,
    columns: [
      {
        name: 'user',
        cell: ({ user }) => user?.username ?? '(unknown)',
        csv: ({ user }) => user?.username ?? '',
        whole: true,
      },
      timeColumn('created', ({ created }) => created),
      { name: 'expires', cell: ({ expires }) => timeText(expires), whole: true },
      { name: 'fingerprint', cell: ({ fingerprint }) => fingerprint, whole: true },
    ],
    json: (session) => session,
    none: failure === undefined ? 'No sessions.' : 'No sessions in the database.',
  });
}
