import { Journal } from '../journal/journal.ts';
import { type Change, type Stopped, Work } from '../journal/operation-run.ts';
import { reconcile } from '../journal/reconcile.ts';
import { type EndedSessions, endSessions, verifySessions } from './end-sessions.ts';
import type { SessionExpiryPlan } from './plan-session-expiry.ts';

/** Which sessions to end, and who says so. */
export interface ExpireSessionsOptions extends Change {
  readonly plan: SessionExpiryPlan;
}

/** What became of the sessions. */
export interface SessionExpiryReport extends EndedSessions {
  /** Whether the sessions were read again and none from before was there. */
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
 * reads again. Whoever has a password or an identity provider can log in again at once. Running it again
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
  using _held = await journal.hold();
  const work = new Work({ target, journal, signal });
  const intent = await journal.opening({
    step: 'operation',
    selection: plan.selection,
    planned: sessions.count,
    users: sessions.userIds === 'all' ? 'all' : sessions.userIds.length,
  });
  const { ended, complete } = await endSessions(work, sessions);
  const found = await verifySessions(work, sessions, started);
  const report: SessionExpiryReport = {
    planned: sessions.count,
    ended,
    ...found,
    verified: found.stillAlive === 0,
    interrupted: work.interrupted && !complete,
    stopped: work.told,
    run: journal.run,
    seconds: (clock.now().getTime() - started.getTime()) / 1000,
  };
  const { run: _run, ...stated } = report;
  await journal.outcome(intent, { step: 'operation', ...stated });
  if (work.stopped !== null && !work.acted) throw work.stopped;
  return report;
}
