import type { PlannedSessions, Tally } from '../../domain/plan.ts';
import { NameCounter } from '../../domain/plan-builder.ts';
import { formatAlternatives } from '../../domain/selector.ts';
import { Journal } from '../journal/journal.ts';
import { type Change, OperationRun, type Stopped } from '../journal/operation-run.ts';
import { reconcile } from '../journal/reconcile.ts';
import type { Target } from '../ports/target.ts';
import { resolveNames } from '../resolve-names.ts';
import { type EndedSessions, endSessions, verifySessions } from './end-sessions.ts';
import { sessionsOf } from './sessions.ts';

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
  /** Whether the sessions were read again and none from before was there. */
  readonly verified: boolean;
  /**
   * Until when a gateway may accept ended sessions from its cache (SESSION_COOKIE_AGE from now); null where there is no
   * cache. `verified` is false then.
   */
  readonly cachedUntil: Date | null;
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
  const cachedSeconds = await cacheLifetime(options);
  const intent = await journal.opening({
    step: 'operation',
    selection: plan.selection,
    planned: sessions.count,
    users: sessions.userIds === 'all' ? 'all' : sessions.userIds.length,
  });
  const { ended, complete } = await endSessions(work, sessions);
  const found = await verifySessions(work, sessions, started);
  const cachedUntil =
    ended > 0 && cachedSeconds !== null ? new Date(clock.now().getTime() + cachedSeconds * 1000) : null;
  const report: SessionExpiryReport = {
    planned: sessions.count,
    ended,
    ...found,
    verified: found.stillAlive === 0 && cachedUntil === null,
    cachedUntil,
    interrupted: work.interrupted && !complete,
    stopped: work.stopReason,
    run: journal.run,
    seconds: (clock.now().getTime() - started.getTime()) / 1000,
  };
  const { run: _run, ...stated } = report;
  await journal.outcome(intent, { step: 'operation', ...stated });
  if (work.stopped !== null && !work.acted) throw work.stopped;
  return report;
}

/** SESSION_COOKIE_AGE of a gateway unless it is set, in seconds. */
const DEFAULT_COOKIE_AGE_S = 900;

/** How long the target may go on accepting ended sessions from a cache, in seconds; null without one. */
async function cacheLifetime({ target, description }: ExpireSessionsOptions): Promise<number | null> {
  const { sessionsCached, settings } = description.capabilities;
  if (sessionsCached !== true) return null;
  return settings ? (await target.settings.read()).SESSION_COOKIE_AGE : DEFAULT_COOKIE_AGE_S;
}
