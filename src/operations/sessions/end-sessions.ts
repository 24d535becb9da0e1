import { TokenctlError } from '../../domain/errors.ts';
import type { PlannedSessions } from '../../domain/plan.ts';
import type { OperationRun } from '../journal/operation-run.ts';
import type { Capabilities, Target } from '../ports/target.ts';
import { sessionSelector, sessionsOf, unseenSessions } from './sessions.ts';

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
  /**
   * Why sessions that are not listed may still be accepted, as a sentence without a full stop: a gateway's cache, or sessions
   * without an owner. Null if that is ruled out, as where all users are deactivated.
   */
  readonly unseen: string | null;
  /** Until when a gateway may accept ended sessions from its cache; null where it does not, or where that is not known. */
  readonly cachedUntil: Date | null;
}

/** What ending planned sessions did. */
interface Ending {
  readonly ended: number;
  /** Whether the turn came of every user. */
  readonly complete: boolean;
  /** When the last of the ended sessions would have expired; null if none ended. */
  readonly latestExpiry: Date | null;
}

/**
 * Ends sessions, recorded before and after, until all are ended, the signal says stop, or the target says
 * that it cannot go on (then in `work.stopped`).
 *
 * @throws TokenctlError as a {@link OperationRun.part}.
 */
export async function endSessions(work: OperationRun, { userIds }: PlannedSessions): Promise<Ending> {
  let ended = 0;
  let latestExpiry: Date | null = null;
  for (const users of together(userIds)) {
    if (work.shouldStop) return { ended, complete: false, latestExpiry };
    await work.part(
      async () => {
        const part = await endOf(work, users);
        ended += part.ended;
        latestExpiry = later(latestExpiry, part.latestExpiry);
      },
      () => ({ ended }),
    );
  }
  return { ended, complete: work.stopped === null, latestExpiry };
}

function later(one: Date | null, other: Date | null): Date | null {
  if (one === null || other === null) return one ?? other;
  return one > other ? one : other;
}

function* together(userIds: PlannedSessions['userIds']): Generator<PlannedSessions['userIds'], undefined> {
  if (userIds === 'all') yield userIds;
  else
    for (let start = 0; start < userIds.length; start += USERS_TOGETHER) {
      yield userIds.slice(start, start + USERS_TOGETHER);
    }
}

async function endOf(
  work: OperationRun,
  users: PlannedSessions['userIds'],
): Promise<Omit<Ending, 'complete'>> {
  const intent = await work.journal.intent({ step: 'sessions', users });
  const fingerprints: string[] = [];
  let ended = 0;
  let latestExpiry: Date | null = null;
  let failure: { readonly error: unknown } | null = null;
  try {
    for await (const { fingerprint, expires } of work.target.endSessions(sessionSelector(users))) {
      work.acted = true;
      ended += 1;
      latestExpiry = later(latestExpiry, expires);
      if (fingerprints.length < NAMED) fingerprints.push(fingerprint);
    }
  } catch (error) {
    failure = { error };
  }
  const reason = failure?.error instanceof TokenctlError ? { reason: failure.error.message } : {};
  await work.journal.outcome(intent, { step: 'sessions', ended, fingerprints, ...reason });
  if (failure?.error instanceof TokenctlError) work.stop(failure.error);
  else if (failure !== null) throw failure.error;
  return { ended, latestExpiry };
}

/**
 * Reads again which planned sessions are there, and finds out until when a gateway's cache may keep those that ended.
 *
 * @param started When the work began.
 */
export async function sessionsAfter(
  work: OperationRun,
  planned: PlannedSessions,
  {
    ending,
    capabilities,
    started,
  }: { readonly ending: Ending | null; readonly capabilities: Capabilities; readonly started: Date },
): Promise<EndedSessions> {
  const read = await verifySessions(work, planned, started);
  const { userIds } = planned;
  const latestExpiry = ending?.latestExpiry ?? null;
  const unseen =
    read.stillAlive === null
      ? null
      : await unseenSessions(work.target, { capabilities, userIds, now: started, latestExpiry });
  return {
    planned: planned.count,
    ended: ending?.ended ?? 0,
    ...read,
    unseen: unseen?.why ?? null,
    cachedUntil: unseen?.until ?? null,
  };
}

/**
 * Counts the sessions that are there now: those from before an instant, and those begun since. Where that
 * fails, the work stops.
 */
async function verifySessions(
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
