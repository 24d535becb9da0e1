import { managementCommands } from '../../domain/dialect.ts';
import { TokenctlError } from '../../domain/errors.ts';
import type { PlannedSessions } from '../../domain/plan.ts';
import type { Session } from '../../domain/token.ts';
import type { OperationRun } from '../journal/operation-run.ts';
import type { Capabilities, SessionSelector, Target, TargetDescription } from '../ports/target.ts';
import { resolveNames } from '../resolve-names.ts';

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
  if (userIds.length > 0) yield* target.sessions(sessionSelector(userIds));
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
  return { userIds, count, ...(unseen !== null && { unseen: unseen.why }) };
}

/** Why sessions that the target does not list may still be accepted. */
export interface UnseenSessions {
  /** As a sentence without a full stop. */
  readonly why: string;
  /** Until when at most; null if that is not known. */
  readonly until: Date | null;
}

/**
 * Finds out whether sessions of users may be accepted although none is listed: from a gateway's cache that the target does not
 * reach, or because their owners are not recorded. A deactivated user's session is refused, from the cache too.
 *
 * @param options.latestExpiry When the last of the sessions that were ended would have expired; null if none was.
 * @returns Null without any.
 */
export async function unseenSessions(
  target: Target,
  options: {
    readonly capabilities: Capabilities;
    readonly userIds: PlannedSessions['userIds'];
    readonly now: Date;
    readonly latestExpiry: Date | null;
  },
): Promise<UnseenSessions | null> {
  const { capabilities, userIds, now, latestExpiry } = options;
  if (capabilities.sessionsCached !== true || !(await anyActive(target, userIds))) return null;
  if (capabilities.sessionsUnowned !== undefined && userIds !== 'all') {
    const until = capabilities.sessionsUnowned === 'some' ? await cookieExpiry(target, now) : null;
    const end = until === null ? '' : `, until ${minuteText(until)}`;
    return {
      why: `Sessions without a recorded owner exist in the database, and may be of the selected users${end}`,
      until,
    };
  }
  const until = latestExpiry ?? (await cookieExpiry(target, now));
  const cached = 'None is left in the database, but the gateway can accept ended sessions from its cache';
  const how = until === null ? 'for up to SESSION_COOKIE_AGE' : `until ${minuteText(until)}`;
  return { why: `${cached} ${how}`, until };
}

function minuteText(at: Date): string {
  return `${at.toISOString().slice(0, 16)}Z`;
}

async function anyActive(target: Target, userIds: PlannedSessions['userIds']): Promise<boolean> {
  if (userIds === 'all') return true;
  const active = new Set(userIds);
  try {
    for await (const { id } of target.users({ inactive: true })) active.delete(id);
  } catch (error) {
    if (!(error instanceof TokenctlError)) throw error;
  }
  return active.size > 0;
}

/** When a session expires that was used just now; null if the setting cannot be read. */
async function cookieExpiry(target: Target, now: Date): Promise<Date | null> {
  try {
    return new Date(now.getTime() + (await target.settings.read()).SESSION_COOKIE_AGE * 1000);
  } catch (error) {
    if (error instanceof TokenctlError) return null;
    throw error;
  }
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
  const grants = missingRights
    .filter(({ purpose, grant }) => purpose === 'read' && /session\w* TO /.test(grant))
    .map(({ grant }) => grant);
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
