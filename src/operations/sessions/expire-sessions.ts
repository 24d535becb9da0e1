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

export interface SessionExpiryPlan {
  /** The owners in words, for display and for the audit log. */
  readonly selection: string;
  readonly sessions: PlannedSessions;
  /** Number of sessions by user, in descending order. */
  readonly byUser: readonly Tally[];
}

/**
 * Computes which sessions would end: those of the named users, or all if no user is named. Reads only.
 * @throws TokenctlError `not_found` for a user that does not exist, `unsupported` if the target lists no
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

export interface ExpireSessionsOptions extends Change {
  readonly plan: SessionExpiryPlan;
}

export interface SessionExpiryReport extends EndedSessions, RunEnd {
  /** Whether no old session was left on re-reading, and tokenctl can access every cache that may keep one. */
  readonly verified: boolean;
  readonly seconds: number;
}

/**
 * Ends sessions: closes what killed runs left open, records the intent, ends them, records which ended, and
 * re-reads them. Users with a password or an identity provider can log in again at once. Running it again
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

/** The maximum number of ended sessions that an outcome names, to limit the line length of the log. */
const NAMED = 1000;

/** The results for planned sessions. */
export interface EndedSessions {
  /** The number of sessions when it was planned. */
  readonly planned: number;
  readonly ended: number;
  /** Sessions from before the start of the work that still exist; null if the target could not be read. */
  readonly stillAlive: number | null;
  /** New logins: sessions begun since the start of the work, by this machine's clock. */
  readonly begunSince: number | null;
  /**
   * Why unlisted sessions may still be accepted: a gateway's cache, or sessions without an owner. Null if
   * that is impossible, for example because all users are deactivated.
   */
  readonly unseen: AccessPath | null;
  /** The latest expiry among the ended sessions; null if none ended. */
  readonly latestExpiry: Date | null;
}

/** The result of ending planned sessions. */
interface Ending {
  readonly ended: number;
  /** Whether the sessions of every user were tried. */
  readonly complete: boolean;
  /** The latest expiry among the ended sessions; null if none ended. */
  readonly latestExpiry: Date | null;
}

/**
 * Ends sessions, recorded before and after, until all are ended, the signal is aborted, or the target cannot
 * continue (then in `work.stopped`).
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

/** Re-reads which planned sessions exist, and until when a gateway's cache may keep those that ended. */
export async function sessionsAfter(
  work: OperationRun,
  planned: PlannedSessions,
  ending: Ending | null,
): Promise<EndedSessions> {
  const { started, change } = work;
  const { description } = change;
  const read = await countByAge(work, planned);
  const { userIds } = planned;
  const latestExpiry = ending?.latestExpiry ?? null;
  const unseen =
    read.stillAlive === null
      ? null
      : await unseenSessions(work.target, { description, userIds, now: started, latestExpiry });
  return { planned: planned.count, ended: ending?.ended ?? 0, ...read, unseen, latestExpiry };
}

/** Counts the sessions from before the start of the work, and those since. If that fails, the work stops. */
async function countByAge(work: OperationRun, { userIds }: PlannedSessions) {
  const unknown = { stillAlive: null, begunSince: null };
  if (work.shouldStop) return unknown;
  let [stillAlive, begunSince] = [0, 0];
  try {
    for await (const { created } of sessionsOf(work.target, userIds)) {
      if (created !== null && created > work.started) begunSince += 1;
      else stillAlive += 1;
    }
    return { stillAlive, begunSince };
  } catch (error) {
    if (!(error instanceof TokenctlError)) throw error;
    work.stop(error);
    return unknown;
  }
}
