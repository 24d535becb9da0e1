import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { AccessPath } from '../../domain/access.ts';
import type { PlannedSessions, Tally } from '../../domain/plan.ts';
import { NameCounter } from '../../domain/plan-builder.ts';
import { formatAlternatives } from '../../domain/selector.ts';
import { unseenSessions } from '../access/cached-sessions.ts';
import { type Change, OperationRun, type RunEnd } from '../journal/operation-run.ts';
import type { Target } from '../ports/target.ts';
import { resolveNames } from '../scope/resolve-names.ts';
import { partOf } from '../scope/target-parts.ts';
import { sessionSelector, sessionsOf } from '../scope/user-sessions.ts';

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
 * @throws TokenctlError `not_found` for a user that does not exist, `unsupported` where the target lists no
 * sessions.
 */
export async function planSessionExpiry(options: {
  target: Target;
  users?: readonly string[] | undefined;
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

export interface SessionExpiryReport extends EndedSessions, RunEnd {
  /** Whether the sessions were read again, none of the old ones was left, and tokenctl can reach every cache that may keep one. */
  readonly verified: boolean;
  readonly seconds: number;
}

/**
 * Ends sessions: closes what killed runs left open, records the intent, ends them, records what ended, and
 * reads again. Users with a password or an identity provider can log in again at once. Running it again
 * finishes the work.
 * @throws TokenctlError as any {@link OperationRun}.
 */
export async function expireSessions(options: ExpireSessionsOptions): Promise<SessionExpiryReport> {
  const { plan } = options;
  const { sessions } = plan;
  using work = new OperationRun(options, 'sessions.expire');
  await work.open({
    selection: plan.selection,
    planned: sessions.count,
    users: sessions.userIds === 'all' ? 'all' : sessions.userIds.length,
  });
  const ending = await endSessions(work, sessions);
  const after = await sessionsAfter(work, sessions, ending);
  const report: SessionExpiryReport = {
    ...after,
    verified: after.stillAlive === 0 && after.unseen === null,
    ...work.ending(ending.complete),
    seconds: work.seconds,
  };
  const { run: _run, ...stated } = report;
  await work.close(stated);
  return report;
}

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
   * Why sessions that are not listed may still be accepted: a gateway's cache, or sessions without an owner. Null if that is ruled
   * out, as where all users are deactivated.
   */
  readonly unseen: AccessPath | null;
  /** When the last of those that ended would have expired; null if none ended. */
  readonly latestExpiry: Date | null;
}

/** What ending planned sessions did. */
interface Ending {
  readonly ended: number;
  /** Whether the sessions of every user were tried. */
  readonly complete: boolean;
  /** When the last of the ended sessions would have expired; null if none ended. */
  readonly latestExpiry: Date | null;
}

/**
 * Ends sessions, recorded before and after, until all are ended, the signal says stop, or the target says
 * that it cannot go on (then in `work.stopped`).
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
        latestExpiry = laterOf(latestExpiry, part.latestExpiry);
      },
      () => ({ ended }),
    );
  }
  return { ended, complete: work.stopped === null, latestExpiry };
}

/** The later of two instants. */
export function laterOf(one: Date | null, other: Date | null): Date | null {
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

async function endOf(work: OperationRun, users: PlannedSessions['userIds']) {
  const intent = await work.journal.intent({ step: 'sessions', users });
  const fingerprints: string[] = [];
  let ended = 0;
  let latestExpiry: Date | null = null;
  let failure: { readonly error: unknown } | null = null;
  try {
    for await (const { fingerprint, expires } of partOf(work.target, 'sessions').end(
      sessionSelector(users),
    )) {
      work.acted = true;
      ended += 1;
      latestExpiry = laterOf(latestExpiry, expires);
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

/** Reads again which planned sessions are there, and finds out until when a gateway's cache may keep those that ended. */
export async function sessionsAfter(
  work: OperationRun,
  planned: PlannedSessions,
  ending: Ending | null,
): Promise<EndedSessions> {
  const { started } = work;
  const { description } = work.change;
  const read = await verifySessions(work, planned);
  const { userIds } = planned;
  const latestExpiry = ending?.latestExpiry ?? null;
  const unseen =
    read.stillAlive === null
      ? null
      : await unseenSessions(work.target, { description, userIds, now: started, latestExpiry });
  return { planned: planned.count, ended: ending?.ended ?? 0, ...read, unseen, latestExpiry };
}

/** Counts the sessions from before the work began, and those since. Where that fails, the work stops. */
async function verifySessions(work: OperationRun, { userIds }: PlannedSessions) {
  if (work.shouldStop) return { stillAlive: null, begunSince: null };
  try {
    return await countByAge(work.target, userIds, work.started);
  } catch (error) {
    if (!(error instanceof TokenctlError)) throw error;
    work.stop(error);
    return { stillAlive: null, begunSince: null };
  }
}

async function countByAge(target: Target, userIds: PlannedSessions['userIds'], started: Date) {
  let [stillAlive, begunSince] = [0, 0];
  for await (const { created } of sessionsOf(target, userIds)) {
    if (created !== null && created > started) begunSince += 1;
    else stillAlive += 1;
  }
  return { stillAlive, begunSince };
}
