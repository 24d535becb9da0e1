import type { AccessPath } from '../../domain/access.ts';
import { managementCommands } from '../../domain/dialect.ts';
import { TokenctlError } from '../../domain/errors.ts';
import type { PlannedSessions } from '../../domain/plan.ts';
import type { Session } from '../../domain/token.ts';
import { unseenSessions } from '../access/cached-sessions.ts';
import { missingSessionRights } from '../access/not-covered.ts';
import type { OperationRun } from '../journal/operation-run.ts';
import type { Capabilities, Target, TargetDescription } from '../ports/target.ts';
import type { SessionSelector } from '../ports/target-parts.ts';
import { resolveNames } from '../resolve-names.ts';
import { partOf } from '../target-parts.ts';

/**
 * Streams the sessions of these users, or every one without names. Reads only.
 *
 * @throws TokenctlError `not_found` for a user that does not exist, `unsupported` where the target lists
 * none, and whatever else it throws.
 */
export async function* listSessions(options: {
  readonly target: Target;
  readonly users?: readonly string[];
}): AsyncIterable<Session> {
  const { target, users } = options;
  const { userIds } = await resolveNames(target, users === undefined ? {} : { users });
  yield* sessionsOf(target, userIds === null ? 'all' : [...userIds.values()]);
}

/** The planned sessions as a target is asked for them. */
function sessionSelector(userIds: PlannedSessions['userIds']): SessionSelector {
  return userIds === 'all' ? { all: true } : { userIds };
}

/**
 * Streams the sessions of these users; asks for nothing where there are no users.
 *
 * @throws TokenctlError `unsupported` where the target lists no sessions, and whatever else it throws.
 */
export async function* sessionsOf(
  target: Target,
  userIds: PlannedSessions['userIds'],
): AsyncIterable<Session> {
  if (userIds.length > 0) yield* partOf(target, 'sessions').list(sessionSelector(userIds));
}

/** Counts the sessions that are listed. */
export async function countSessions(target: Target, userIds: PlannedSessions['userIds']): Promise<number> {
  let count = 0;
  for await (const _session of sessionsOf(target, userIds)) count += 1;
  return count;
}

/** Counts the sessions that would end now, and says whether others may be accepted. Reads only. */
export async function planSessions(
  target: Target,
  userIds: PlannedSessions['userIds'],
  { capabilities, now }: { readonly capabilities: Capabilities; readonly now: Date },
): Promise<PlannedSessions> {
  const count = await countSessions(target, userIds);
  const unseen = await unseenSessions(target, { capabilities, userIds, now, latestExpiry: null });
  return { userIds, count, ...(unseen !== null && { unseen }) };
}

/** Sessions were asked for at a target that has none to show: over REST, or a database that cannot. */
export function noSessions(
  description: Pick<TargetDescription, 'dialect' | 'credential' | 'missingRights'>,
): TokenctlError {
  if (description.credential === 'database_role') return noSessionsInTables(description);
  const { endSessions } = managementCommands(description.dialect);
  return new TokenctlError('unsupported', 'This target can neither list nor end sessions', {
    hint:
      endSessions === null
        ? 'Use a database context. This needs a recent release of the gateway.'
        : `Use a database context, or run \`${endSessions}\` on the server.`,
  });
}

/** A role may lack rights for them; without that, a gateway from before its late releases does not tell whose they are. */
function noSessionsInTables({ missingRights }: Pick<TargetDescription, 'missingRights'>): TokenctlError {
  const grants = missingSessionRights(missingRights).map(({ grant }) => grant);
  if (grants.length > 0) {
    return new TokenctlError('permission_refused', 'The database role cannot read sessions', {
      hint: `Grant it these rights: ${grants.join('; ')}.`,
    });
  }
  return new TokenctlError('unsupported', 'The tables of this database do not record the users of sessions', {
    hint: 'Upgrade the gateway. After `DELETE FROM django_session`, sessions are accepted until their entries in the cache of the gateway expire.',
  });
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
    unseen,
    latestExpiry,
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
    return await countByAge(work.target, userIds, started);
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
