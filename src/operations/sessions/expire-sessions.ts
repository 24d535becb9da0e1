import type { PlannedSessions, Tally } from '../../domain/plan.ts';
import { NameCounter } from '../../domain/plan-builder.ts';
import { formatAlternatives } from '../../domain/selector.ts';
import { Journal } from '../journal/journal.ts';
import { type Change, OperationRun, type Stopped } from '../journal/operation-run.ts';
import { reconcile } from '../journal/reconcile.ts';
import type { Target } from '../ports/target.ts';
import { resolveNames } from '../resolve-names.ts';
import { type EndedSessions, endSessions, sessionsAfter, sessionsOf } from './sessions.ts';

/** Which sessions would end. */
export interface SessionExpiryPlan {
  /** Whose, in words, for people and for the audit log. */
  readonly selection: string;
  readonly sessions: PlannedSessions;
  /** How many sessions by user, the most first. */
  readonly byUser: readonly Tally[];
}

/**
 * Computes which sessions would end: those of the named users, or every one without names. Reads only.
 *
 * @throws TokenctlError `not_found` for a user that does not exist, `unsupported` where the target lists no
 * sessions, and whatever else it throws.
 */
export async function planSessionExpiry(options: {
  readonly target: Target;
  readonly users?: readonly string[];
}): Promise<SessionExpiryPlan> {
  const { target, users } = options;
  const named = await resolveNames(target, users === undefined ? {} : { users });
  const userIds = named.userIds === null ? 'all' : [...named.userIds.values()].sort((a, b) => a - b);
  const byUser = new NameCounter();
  let count = 0;
  for await (const { user } of sessionsOf(target, userIds)) {
    byUser.add(user?.username ?? '(no user known)');
    count += 1;
  }
  return {
    selection: users === undefined ? 'every session' : `sessions of ${formatAlternatives(users)}`,
    sessions: { userIds, count },
    byUser: byUser.tallies(),
  };
}

/** Which sessions to end, and who says so. */
export interface ExpireSessionsOptions extends Change {
  readonly plan: SessionExpiryPlan;
}

/** What became of the sessions. */
export interface SessionExpiryReport extends EndedSessions {
  /** Whether the sessions were read again, none of the old ones was left, and tokenctl can reach every cache that may keep one. */
  readonly verified: boolean;
  /** Whether a signal ended the work early. */
  readonly interrupted: boolean;
  /** What ended the work early, where the target did; null otherwise. */
  readonly stopped: Stopped | null;
  /** The run's UUID in the audit log. */
  readonly run: string;
  readonly seconds: number;
}

/**
 * Ends sessions: closes what killed runs left open, records the intent, ends them, records what ended, and
 * reads again. Users with a password or an identity provider can log in again at once. Running it again
 * finishes the work.
 *
 * @throws TokenctlError `audit_unavailable` before anything was done; `outcome_unrecorded` after something
 * was; what the target throws where nothing could be tried.
 */
export async function expireSessions(options: ExpireSessionsOptions): Promise<SessionExpiryReport> {
  const { target, plan, clock, signal } = options;
  const { sessions } = plan;
  const started = clock.now();
  const journal = new Journal({ ...options, operation: 'sessions.expire' });
  await reconcile(options);
  using _lock = await journal.lock();
  const work = new OperationRun({ target, journal, signal });
  const intent = await journal.opening({
    step: 'operation',
    selection: plan.selection,
    planned: sessions.count,
    users: sessions.userIds === 'all' ? 'all' : sessions.userIds.length,
  });
  const ending = await endSessions(work, sessions);
  const { capabilities } = options.description;
  const after = await sessionsAfter(work, sessions, { ending, capabilities, started });
  const report: SessionExpiryReport = {
    ...after,
    verified: after.stillAlive === 0 && after.unseen === null,
    interrupted: work.interrupted && !ending.complete,
    stopped: work.stopReason,
    run: journal.run,
    seconds: (clock.now().getTime() - started.getTime()) / 1000,
  };
  const { run: _run, ...stated } = report;
  await journal.outcome(intent, { step: 'operation', ...stated });
  if (work.stopped !== null && !work.acted) throw work.stopped;
  return report;
}
