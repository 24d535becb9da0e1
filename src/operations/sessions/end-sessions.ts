import { TokenctlError } from '../../domain/errors.ts';
import type { PlannedSessions } from '../../domain/plan.ts';
import type { OperationRun } from '../journal/operation-run.ts';
import type { Target } from '../ports/target.ts';
import { sessionSelector, sessionsOf } from './sessions.ts';

/** Users that share one intent and one outcome in the audit log. */
const USERS_TOGETHER = 1000;

/** How many ended sessions an outcome names, so that no line of the log grows without bound. */
const NAMED = 1000;

/** What became of planned sessions. */
export interface EndedSessions {
  /** How many there were when it was planned. */
  readonly planned: number;
  readonly ended: number;
  /** Sessions from before the work began that are still there; null where the target could not be asked. */
  readonly stillAlive: number | null;
  /** Sessions that began since the work did, by the clock of this machine: new logins. */
  readonly begunSince: number | null;
}

/**
 * Ends sessions, recorded before and after, until all are ended, the signal says stop, or the target says
 * that it cannot go on (then in `work.stopped`).
 *
 * @returns How many ended, and whether the turn came of every user.
 * @throws TokenctlError as a {@link OperationRun.part}.
 */
export async function endSessions(
  work: OperationRun,
  { userIds }: PlannedSessions,
): Promise<{ readonly ended: number; readonly complete: boolean }> {
  let ended = 0;
  for (const users of together(userIds)) {
    if (work.shouldStop) return { ended, complete: false };
    await work.part(
      async () => {
        ended += await endOf(work, users);
      },
      () => ({ ended }),
    );
  }
  return { ended, complete: work.stopped === null };
}

function* together(userIds: PlannedSessions['userIds']): Generator<PlannedSessions['userIds'], undefined> {
  if (userIds === 'all') yield userIds;
  else
    for (let start = 0; start < userIds.length; start += USERS_TOGETHER) {
      yield userIds.slice(start, start + USERS_TOGETHER);
    }
}

async function endOf(work: OperationRun, users: PlannedSessions['userIds']): Promise<number> {
  const intent = await work.journal.intent({ step: 'sessions', users });
  const fingerprints: string[] = [];
  let ended = 0;
  let failure: { readonly error: unknown } | null = null;
  try {
    for await (const { fingerprint } of work.target.endSessions(sessionSelector(users))) {
      work.acted = true;
      ended += 1;
      if (fingerprints.length < NAMED) fingerprints.push(fingerprint);
    }
  } catch (error) {
    failure = { error };
  }
  const reason = failure?.error instanceof TokenctlError ? { reason: failure.error.message } : {};
  await work.journal.outcome(intent, { step: 'sessions', ended, fingerprints, ...reason });
  if (failure?.error instanceof TokenctlError) work.stop(failure.error);
  else if (failure !== null) throw failure.error;
  return ended;
}

/**
 * Counts the sessions that are there now: those from before an instant, and those begun since. Where that
 * fails, the work stops.
 */
export async function verifySessions(
  work: OperationRun,
  { userIds }: PlannedSessions,
  started: Date,
): Promise<Pick<EndedSessions, 'stillAlive' | 'begunSince'>> {
  if (work.shouldStop) return { stillAlive: null, begunSince: null };
  try {
    return await count(work.target, userIds, started);
  } catch (error) {
    if (!(error instanceof TokenctlError)) throw error;
    work.stop(error);
    return { stillAlive: null, begunSince: null };
  }
}

async function count(target: Target, userIds: PlannedSessions['userIds'], started: Date) {
  let [stillAlive, begunSince] = [0, 0];
  for await (const { created } of sessionsOf(target, userIds)) {
    if (created !== null && created > started) begunSince += 1;
    else stillAlive += 1;
  }
  return { stillAlive, begunSince };
}
